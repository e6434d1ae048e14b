#include "backend/ir/layout_numbers.h"

#include "llvm/ADT/STLExtras.h"

namespace imbrex::ir {

std::vector<LayoutId> layoutsInOrder(const Kernel &kernel) {
  std::vector<LayoutId> order;
  std::vector<bool> isSeen(kernel.layouts().size());
  const auto see = [&](ValueId value) {
    const LayoutId layout = kernel.layoutOf(value);
    if (layout.index() >= isSeen.size() || isSeen[layout.index()]) return;
    isSeen[layout.index()] = true;
    order.push_back(layout);
  };
  walk(kernel.body(), [&](const Op &op) {
    for (const Block &region : op.regions) llvm::for_each(region.arguments, see);
    llvm::for_each(op.results, see);
  });
  return order;
}

} // namespace imbrex::ir
