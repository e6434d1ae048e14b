#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <tuple>

namespace imbrex::target::nvptx {

/// `@!%p1 bra $L__BB0_2`, without the semicolon.
struct Instruction {
  explicit Instruction(llvm::StringRef line) {
    if (line.consume_front("@")) {
      std::tie(predicate, line) = line.split(' ');
      isNegated = predicate.consume_front("!");
      line = line.trim();
    }
    const std::size_t end = line.find_first_of(" \t");
    opcode = line.take_front(end);
    operands = line.drop_front(opcode.size()).trim();
  }

  /// The last one in brackets, or the first.
  llvm::StringRef lastAddress() const { return operands.rsplit('[').second.split(']').first; }
  llvm::StringRef firstAddress() const { return operands.split('[').second.split(']').first; }
  llvm::StringRef lastOperand() const { return operands.rsplit(',').second.trim(); }

  /// `%p1|%p2`, `{%r1, %r2}`; of an instruction that sets none but reads one first, that one.
  llvm::SmallVector<llvm::StringRef, 4> registersSet() const {
    llvm::StringRef list = operands;
    const bool isVector = list.consume_front("{");
    list = list.take_until([&](char c) { return isVector ? c == '}' : c == ','; });
    llvm::SmallVector<llvm::StringRef, 4> parts, registers;
    list.split(parts, isVector ? ',' : '|');
    for (const llvm::StringRef part : parts)
      if (part.trim().starts_with("%")) registers.push_back(part.trim());
    return registers;
  }

  llvm::StringRef predicate, opcode, operands;
  bool isNegated = false;
};

} // namespace imbrex::target::nvptx
