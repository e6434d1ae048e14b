#include "backend/passes/pipeline/read_layout.h"

#include "llvm/ADT/STLExtras.h"

namespace imbrex::passes::pipeline {

using namespace ir;

std::optional<LayoutId> wantedLayout(const Kernel &kernel, ValueId tile) {
  std::optional<LayoutId> wanted;
  bool isOne = true;
  walk(kernel.body(), [&](const Op &op) {
    if (!llvm::is_contained(op.operands, tile)) return;
    const bool converts = op.kind == OpKind::ConvertLayout;
    isOne &= converts && (!wanted || *wanted == kernel.layoutOf(op.result()));
    if (converts) wanted = kernel.layoutOf(op.result());
  });
  return isOne ? wanted : std::nullopt;
}

} // namespace imbrex::passes::pipeline
