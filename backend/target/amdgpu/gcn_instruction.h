#pragma once

#include "backend/target/codegen/code_graph.h"
#include "llvm/ADT/StringRef.h"

namespace imbrex::target::amdgpu {

/// `global_load_dword v0, v1, s[0:1] glc`, without a comment.
struct GcnInstruction {
  explicit GcnInstruction(llvm::StringRef line)
      : opcode(line.take_until([](char c) { return c == ' ' || c == '\t'; })),
        operands(line.drop_front(opcode.size()).trim()) {}

  llvm::StringRef opcode, operands;
};

/// `buffer_load_dwordx4 v0, s[0:3], s4 offen lds`
inline bool isLoadToLds(const GcnInstruction &instruction) {
  if (instruction.opcode.starts_with("global_load_lds_")) return true;
  return instruction.opcode.starts_with("buffer_load_") && instruction.operands.ends_with(" lds");
}

/// Where it goes on, if not behind it.
inline CodeLine jumpOf(const GcnInstruction &instruction) {
  CodeLine read;
  const bool isConditional = instruction.opcode.starts_with("s_cbranch");
  if (isConditional || instruction.opcode == "s_branch") read.target = instruction.operands.str();
  if (isConditional) read.predicate = instruction.opcode.str();
  read.ends = instruction.opcode == "s_endpgm";
  return read;
}

} // namespace imbrex::target::amdgpu
