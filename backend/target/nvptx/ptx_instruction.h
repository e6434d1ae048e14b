#pragma once

#include "backend/target/codegen/assembly_text.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <tuple>

namespace imbrex::target::nvptx {

using Words = llvm::SmallVector<llvm::StringRef, 8>; // `ld.global.v4.b32`: ld, global, v4, b32

/// The bits of `.f32`, `.b64`, `.u8`, `.f16x2`; 0 for another word.
inline std::int32_t bitsOfType(llvm::StringRef type) {
  std::int32_t bits = 0;
  const bool isPair = type.consume_back("x2");
  return type.ltrim("bfsu").getAsInteger(10, bits) ? 0 : bits * (isPair ? 2 : 1);
}

/// Of `.v2.b32` both.
inline std::int32_t bitsMoved(const Words &words) {
  std::int32_t lanes = 1;
  for (const llvm::StringRef word : words)
    if (word.size() == 2 && word[0] == 'v') lanes = word[1] - '0';
  return lanes * bitsOfType(words.back());
}

/// `@!%p1 bra $L__BB0_2`, without the semicolon.
struct PtxInstruction {
  explicit PtxInstruction(llvm::StringRef line) {
    if (line.consume_front("@")) {
      std::tie(predicate, line) = line.split(' ');
      isNegated = predicate.consume_front("!");
      line = trimmed(line);
    }
    opcode = llvm::StringRef(line.begin(), llvm::find_if(line, isBlank) - line.begin());
    operands = trimmed(line.drop_front(opcode.size()));
  }

  Words words() const { return llvm::to_vector<8>(llvm::split(opcode, '.')); }

  /// The last one in brackets, or the first.
  llvm::StringRef lastAddress() const { return operands.rsplit('[').second.split(']').first; }
  llvm::StringRef firstAddress() const { return operands.split('[').second.split(']').first; }
  llvm::StringRef lastOperand() const { return trimmed(operands.rsplit(',').second); }

  /// `%p1|%p2`, `{%r1, %r2}`; of an instruction that sets none but reads one first, that one.
  llvm::SmallVector<llvm::StringRef, 4> registersSet() const {
    llvm::StringRef list = operands;
    const bool isVector = list.consume_front("{");
    list = list.take_front(list.find(isVector ? '}' : ','));
    llvm::SmallVector<llvm::StringRef, 4> registers;
    while (!list.empty()) {
      const auto [part, rest] = list.split(isVector ? ',' : '|');
      if (const llvm::StringRef name = trimmed(part); name.starts_with("%"))
        registers.push_back(name);
      list = rest;
    }
    return registers;
  }

  llvm::StringRef predicate, opcode, operands;
  bool isNegated = false;
};

} // namespace imbrex::target::nvptx
