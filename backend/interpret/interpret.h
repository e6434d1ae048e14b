#pragma once

#include "backend/ir/argument.h"
#include "backend/ir/kernel.h"
#include "backend/support/diagnostics.h"
#include "llvm/ADT/ArrayRef.h"

#include <functional>
#include <string_view>

namespace imbrex::interpret {

struct InterpreterOptions {
  enum class Races : std::uint8_t {
    WhereCheap, // more than one block, and no more than kCheapBytes of arguments
    Watch,
    Ignore,
  };
  static constexpr std::int64_t kCheapBytes = std::int64_t{8} << 20;

  Races races = Races::WhereCheap;
  /// A block that runs more operations than this has lost its way.
  std::int64_t mostSteps = 100'000'000;
  /// Takes the lines that `print` makes, each with its line end; by default they go to stdout.
  std::function<void(std::string_view)> print;
};

/// Run a kernel, block after block (x fastest), by the reference semantics of docs/semantics.md:
/// slow, obvious, and watching. Reports (and returns false after) an access outside an argument's
/// bytes, a read of bytes marked unwritten, two blocks that touch the same byte with no order
/// between them and at least one writing, a failed assert, an inline_asm, a block without an end.
/// Takes every stage: what a pass makes of a kernel can be compared with the kernel.
bool run(const ir::Kernel &kernel, const ir::Grid &grid, llvm::ArrayRef<ir::Argument> arguments,
         Diagnostics &diagnostics, const InterpreterOptions &options = {});

} // namespace imbrex::interpret
