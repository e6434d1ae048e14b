#include "backend/analysis/loads_if.h"

#include "backend/analysis/effects.h"
#include "llvm/ADT/STLExtras.h"

namespace imbrex::analysis {
namespace {

using namespace ir;

bool isZero(const Kernel &kernel, ValueId value) {
  return constantBits(kernel, value) == std::uint64_t{0};
}

llvm::ArrayRef<ValueId> yieldedBy(const Block &body) { return body.ops.back()->operands; }

} // namespace

bool fillsWithZeros(const Kernel &kernel, const Op &op) {
  if (op.kind == OpKind::ViewLoad) return op.attrs<ViewAttrs>().padding == Padding::Zero;
  return op.kind == OpKind::Load && (op.operands.size() < 3 || isZero(kernel, op.operand(2)));
}

bool isOfLoads(const Kernel &kernel, const Op &op) {
  if (op.kind != OpKind::If || op.results.empty() || op.regions.size() != 2) return false;
  const Block &loads = op.regions[0], &none = op.regions[1];
  const auto isAllowed = [&](const auto &inner) {
    return inner->kind == OpKind::Yield || fillsWithZeros(kernel, *inner) || isPure(*inner);
  };
  const auto isLoaded = [&](ValueId value) {
    return llvm::any_of(loads.ops, [&](const auto &inner) {
      return fillsWithZeros(kernel, *inner) && inner->result() == value;
    });
  };
  return llvm::all_of(loads.ops, isAllowed) && llvm::all_of(yieldedBy(loads), isLoaded) &&
         llvm::all_of(yieldedBy(none), [&](ValueId value) { return isZero(kernel, value); });
}

} // namespace imbrex::analysis
