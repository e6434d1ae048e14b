#include "backend/passes/constants.h"

#include "backend/analysis/algebra.h"
#include "backend/interpret/scalar.h"

namespace imbrex::passes {

using namespace ir;

std::optional<std::uint64_t> constantResult(const Kernel &kernel, const Op &op) {
  const bool converts = op.kind == OpKind::Cast || op.kind == OpKind::Bitcast;
  if (!converts && !isElementwise(op.kind)) return std::nullopt;
  if (!kernel.type(op.result()).isTile()) return std::nullopt;
  llvm::SmallVector<std::uint64_t, 3> operands;
  for (const ValueId operand : op.operands) {
    const auto bits = constantBits(kernel, operand);
    if (!bits) return std::nullopt;
    operands.push_back(*bits);
  }
  const ElementKind from = kernel.type(op.operands.back()).element();
  const ElementKind to = kernel.type(op.result()).element();
  if (op.kind == OpKind::Cast)
    return interpret::convert(operands[0], from, to, op.attrs<CastAttrs>().rounding);
  if (op.kind != OpKind::Bitcast) return interpret::evaluate(op.kind, from, operands);
  // A pair of f4e2m1 is one u8: its halves may differ, so that no splat need come of it.
  if (info(from).bits != info(to).bits) return std::nullopt;
  return operands[0];
}

} // namespace imbrex::passes
