#include "backend/passes/layouts/layout_plan.h"

#include "llvm/ADT/bit.h"

#include <algorithm>

namespace imbrex::passes::layouts {
namespace {

using namespace ir;

// Enough threads to hide the latency of memory, few enough that a small tile does not leave half of
// them without work: what one of them holds of the largest tile, and the most of them.
constexpr std::int64_t kElementsPerThread = 8;
constexpr std::int32_t kMostThreads = 256;

std::int64_t largestTile(const Kernel &kernel) {
  std::int64_t largest = 1;
  walk(kernel.body(), [&](const Op &op) {
    for (const ValueId result : op.results)
      if (kernel.type(result).isTileOrPointers())
        largest = std::max(largest, kernel.type(result).shape().elements());
  });
  return largest;
}

layout::LinearLayout defaultLayout(const Shape &shape, layout::Threads threads) {
  llvm::SmallVector<std::int32_t, 5> order;
  for (std::int32_t axis = shape.rank(); axis-- > 0;) order.push_back(axis);
  const auto share = static_cast<std::uint64_t>(shape.elements() / threads.count());
  const std::int64_t perThread =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(llvm::bit_floor(share)), 1, 4);
  return layout::blockedLayout(shape.extents(), threads, perThread, order);
}

} // namespace

layout::Threads chooseThreads(const Kernel &kernel, const machine::Machine &machine) {
  const std::int32_t lanes = std::max(machine.warpSize, 1);
  const std::int32_t most = std::max(std::min(kMostThreads, machine.maxThreads) / lanes, 1);
  const std::int64_t wanted = largestTile(kernel) / (lanes * kElementsPerThread);
  const auto warps =
      llvm::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(wanted, 1, most)));
  return {.lanes = lanes, .warps = static_cast<std::int32_t>(warps)};
}

LayoutPlan planLayouts(Kernel &kernel, const machine::Machine &machine) {
  LayoutPlan plan{
      .threads = chooseThreads(kernel, machine), .sites = sitesOf(kernel), .layouts = {}};
  for (const Site &site : plan.sites)
    plan.layouts.push_back(defaultLayout(shapeOf(kernel, site), plan.threads));
  return plan;
}

} // namespace imbrex::passes::layouts
