#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Instruction.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// What orders memory between threads: as the module asks for it, and as an assembly has it.
namespace imbrex::target {

/// For which threads; each includes those before it.
enum class MemoryScope : std::uint8_t { None, Block, Device, System };

enum class AccessKind : std::uint8_t {
  Load,
  Store,
  Update,   // reads and writes in one step
  Exchange, // the same, if memory holds what is expected
  Fence,
  Meeting, // of all threads of a block
  Launch,  // a wait for the launch before
};

struct OrderedAccess {
  AccessKind kind;
  std::int32_t bits = 0;                    ///< None of fences and meetings.
  MemoryScope scope = MemoryScope::System;  ///< It is one step for these.
  MemoryScope acquires = MemoryScope::None; ///< What comes behind it sees what these have released.
  MemoryScope releases =
      MemoryScope::None; ///< What came before it is seen by these, if they acquire.
};
/// "an update of 32 bits for the device that acquires and releases for the block"
std::string toText(const OrderedAccess &access);

/// What an atomic or a fence asks for; nothing of other instructions.
std::optional<OrderedAccess> accessOf(const llvm::Instruction &instruction);

/// One of an assembly. Which one of the module's it is says the column of its place in the source,
/// which is 0 of all else (access_order.h).
struct FoundAccess {
  std::uint32_t number; ///< 0: of which it is nobody knows.
  OrderedAccess access;
};

/// Reads the column of `.loc 1 7 3`, which counts for all lines up to the next.
class Columns {
public:
  /// Whether the line was one of these.
  bool read(llvm::StringRef line);
  std::uint32_t current() const { return current_; }

private:
  std::uint32_t current_ = 0;
};

} // namespace imbrex::target
