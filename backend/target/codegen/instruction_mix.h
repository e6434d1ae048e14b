#pragma once

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <map>
#include <string_view>

namespace imbrex::target {

/// What instructions are counted as.
enum class InstructionClass : std::uint8_t {
  GlobalLoad,
  GlobalStore,
  SharedLoad,
  SharedStore,
  StackLoad,
  StackStore,
  ConstantLoad, // of the kernel's arguments and of constants
  AsyncCopy,    // between global and shared memory, beside the threads
  Atomic,
  Float,
  Integer,
  Matrix,
  Convert,
  Move,
  Shuffle, // between the lanes of a warp, votes included
  Barrier,
  Wait, // fences, too
  Branch,
  Other,
};
inline constexpr auto kInstructionClasses = std::to_array<std::string_view>(
    {"global load", "global store", "shared load", "shared store", "stack load", "stack store",
     "constant load", "async copy", "atomic", "float", "integer", "matrix", "convert", "move",
     "shuffle", "barrier", "wait", "branch", "other"});

/// How many instructions of each class stand in a kernel's assembly.
struct InstructionMix {
  std::array<std::int32_t, kInstructionClasses.size()> counts{};
  /// Of loads, stores and copies also how many of each width: class, bytes that a thread moves,
  /// count.
  std::map<InstructionClass, std::map<std::int32_t, std::int32_t>> widths;

  void add(InstructionClass kind, std::int32_t bytes = 0) {
    ++counts[static_cast<std::size_t>(kind)];
    if (bytes > 0) ++widths[kind][bytes];
  }
  std::int32_t count(InstructionClass kind) const { return counts[static_cast<std::size_t>(kind)]; }
  std::int32_t total() const { return llvm::sum_of(counts); }
};

} // namespace imbrex::target
