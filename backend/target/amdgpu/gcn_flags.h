#pragma once

#include "backend/target/codegen/code_graph.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <optional>
#include <string>

namespace imbrex::target::amdgpu {

/// Which pairs of scalar registers decide jumps, and where they are set to all lanes or none. Where
/// several ways meet, LLVM lets such a pair tell later from which of them the wave has come:
///
///   s_mov_b64 s[26:27], -1              s[26:27] is true from now on
///   s_xor_b64 s[16:17], s[26:27], -1    the opposite
///   s_and_b64 vcc, exec, s[16:17]       that, of the lanes that run, of which there are some
///   s_cbranch_vccnz .LBB0_19            jumps unless s[26:27] is true
class Flags {
public:
  /// Takes note of the next instruction: what it sets, and on what it depends that it jumps.
  void read(llvm::StringRef opcode, llvm::StringRef operands, CodeLine &read);
  /// Another block begins.
  void begin() {
    same_.clear();
    changed_.clear();
  }

private:
  struct Flag {
    std::string of;
    bool isOpposite = false;
  };
  std::optional<Flag> flagIn(llvm::StringRef operand) const;
  std::optional<Flag> made(llvm::StringRef opcode, llvm::ArrayRef<llvm::StringRef> operands) const;
  void set(llvm::StringRef name, CodeLine &read);

  llvm::StringMap<Flag> same_; // what is another flag of the block's beginning, or its opposite
  llvm::StringSet<> changed_;  // since then
};

/// Leaves as predicates those flags alone that are set to all lanes or none somewhere: of others
/// both they and their opposites may hold, in different lanes.
void keepFlags(CodeGraph &graph);

} // namespace imbrex::target::amdgpu
