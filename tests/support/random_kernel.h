#pragma once

#include "backend/ir/argument.h"
#include "backend/ir/kernel.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Random valid kernels over every op, for tests that compare: text with text, the interpreter with
/// a target, a kernel before a pass with the kernel after it.
namespace imbrex::testing {

struct RandomKernelOptions {
  std::int32_t size = 30; ///< About how many random ops stand in the kernel's own body.
  /// At Traced the kernel has variables, and its loops carry nothing.
  ir::Stage stage = ir::Stage::Tiles;
  /// No print and no inline_asm, so that the kernel may be run.
  bool runnable = true;
  /// Only what docs/semantics.md calls exact, and products whose sums are exact in any order: two
  /// executors must agree on every bit but those of NaNs. Nothing makes a NaN's bits an integer.
  bool exact = true;
};

/// What to launch with for a parameter. Accesses stay within `elements` whatever the block.
struct ArgumentSpec {
  ir::Type type; // the parameter's: a scalar, a pointer, a view or a table
  std::uint64_t scalar = 0;
  std::int64_t elements = 0; // of the pointer's, the view's or the table's memory
  std::int64_t parts = 0;    // of a table: the equal parts of it that its pointers lead to
  std::array<std::int64_t, ir::Shape::kMaxRank> extents{};
  std::array<std::int64_t, ir::Shape::kMaxRank> strides{};
  std::int32_t sharesWith = -1; // the parameter whose memory this one names as well; -1: its own
  std::uint32_t seed = 0;       // of what the memory holds before the launch
};

/// Every run ends, touches only its arguments, and leaves in them what it computed. Blocks write
/// different bytes, or add atomically, so that their order does not matter.
struct RandomKernel {
  ir::Kernel kernel;
  std::vector<ArgumentSpec> arguments; // one for each parameter
  ir::Grid grid;
};

RandomKernel randomKernel(std::uint32_t seed, const RandomKernelOptions &options = {});

/// The memory of one launch, filled as the specs say; two launches of one kernel start equal.
class RandomLaunch {
public:
  explicit RandomLaunch(const RandomKernel &kernel);
  RandomLaunch(RandomLaunch &&) = default;

  const std::vector<ir::Argument> &arguments() const { return arguments_; }
  const std::vector<std::byte> &memory(std::size_t parameter) const { return memory_[parameter]; }

private:
  std::vector<std::vector<std::byte>> memory_;
  std::vector<ir::PointerTable> tables_;
  std::vector<ir::Argument> arguments_;
};

/// Where two launches differ first, such as "%out3[17]: 4 and 5"; empty where they do not. Any NaN
/// equals any NaN.
std::string difference(const RandomKernel &kernel, const RandomLaunch &a, const RandomLaunch &b);

} // namespace imbrex::testing
