#include "backend/analysis/behind_rings.h"

#include "llvm/ADT/STLExtras.h"

namespace imbrex::analysis {
namespace {

using namespace ir;

bool isOfRing(const Kernel &kernel, ValueId value) {
  return kernel.type(value).isRing() || kernel.type(value).isShared();
}

bool usesRings(const Kernel &kernel, const Op &op) {
  if (op.kind == OpKind::For) {
    const auto &attrs = op.attrs<ForAttrs>();
    if (attrs.pipelined != 0 || attrs.slots > ForAttrs::kInRegisters) return true;
  }
  if (op.kind == OpKind::RingDrain || op.kind == OpKind::RingCommit) return true;
  if (llvm::any_of(op.operands, [&](ValueId operand) { return isOfRing(kernel, operand); }))
    return true;
  return llvm::any_of(op.regions, [&](const Block &body) {
    return llvm::any_of(body.ops, [&](const auto &inner) { return usesRings(kernel, *inner); });
  });
}

/// Whether what is copied may outlive the loop that wants it.
bool mayOutlive(const Op &op) {
  if (op.kind == OpKind::BreakIf || op.kind == OpKind::Roles || op.kind == OpKind::BarrierNew)
    return true;
  return op.kind == OpKind::ViewLoad && op.attrs<ViewAttrs>().ahead == Ahead::Boxes;
}

} // namespace

const Op *lastUseOfRings(const Kernel &kernel) {
  if (firstOp(kernel.body(), mayOutlive)) return nullptr;
  for (const auto &op : llvm::reverse(kernel.body().ops))
    if (usesRings(kernel, *op)) return op.get();
  return nullptr;
}

} // namespace imbrex::analysis
