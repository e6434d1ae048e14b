#include "runtime/grid_limits.h"

#include "backend/support/check.h"

#include <array>
#include <limits>

namespace imbrex::runtime {
namespace {

constexpr std::array<char, 3> kAxes{'x', 'y', 'z'};

/// The most blocks along each axis.
std::array<std::int64_t, 3> mostBlocks(machine::Family family, std::int32_t threads) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  switch (family) {
  case machine::Family::Cpu: return {kMost, kMost, kMost};
  // CUDA C++ Programming Guide 13, "Compute Capabilities", table "Technical Specifications per
  // Compute Capability": maximum x-, y- or z-dimension of a grid of thread blocks.
  case machine::Family::Nvptx: return {kMost, 65535, 65535};
  // HIP runtime API reference, hipModuleLaunchKernel: the threads along an axis, gridDim x
  // blockDim, are fewer than 2^32. A block's threads all lie along x.
  case machine::Family::Amdgpu: return {((std::int64_t{1} << 32) - 1) / threads, kMost, kMost};
  }
  IMBREX_UNREACHABLE("family");
}

} // namespace

std::optional<Diagnostic> checkGrid(const ir::Grid &grid, const machine::Machine &machine,
                                    std::int32_t threads, Location where) {
  const std::array<std::int64_t, 3> most = mostBlocks(machine.family, threads);
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (grid.extents[axis] > most[axis])
      return diagnostic(Diag::GridBeyondDevice, where, kAxes[axis], grid.extents[axis],
                        machine.name, most[axis]);
  return std::nullopt;
}

std::optional<Diagnostic> checkClusters(const ir::Grid &grid, llvm::ArrayRef<std::int64_t> cluster,
                                        Location where) {
  for (std::size_t axis = 0; axis < cluster.size(); ++axis)
    if (grid.extents[axis] % cluster[axis] != 0)
      return diagnostic(Diag::GridInClusters, where, kAxes[axis], grid.extents[axis],
                        cluster[axis]);
  return std::nullopt;
}

} // namespace imbrex::runtime
