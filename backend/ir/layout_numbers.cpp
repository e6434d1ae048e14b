#include "backend/ir/layout_numbers.h"

#include "backend/layout/layout_text.h"
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

std::string withLayoutNumbers(std::string text, const Kernel &kernel) {
  // With the word in front, no layout is found in the end of another that has more inputs.
  const std::string word = "layout ";
  for (const auto &[number, layout] : llvm::enumerate(layoutsInOrder(kernel))) {
    const std::string spelled = word + layout::toText(kernel.layout(layout)),
                      numbered = word + "#" + std::to_string(number);
    for (std::size_t at = 0; (at = text.find(spelled, at)) != std::string::npos;)
      text.replace(at, spelled.size(), numbered);
  }
  return text;
}

} // namespace imbrex::ir
