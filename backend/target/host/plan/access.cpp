#include "backend/target/host/plan/access.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <optional>

namespace imbrex::host {
namespace {

using ir::OpKind;

/// Whether two pointer expressions are the same but for their parameters.
bool sameExpression(const ir::Kernel &kernel, ir::ValueId a, ir::ValueId b) {
  if (a == b) return true;
  const ir::Op *x = kernel.definition(a), *y = kernel.definition(b);
  if (!x && !y) return kernel.type(a) == kernel.type(b);
  if (!x || !y || x->kind != y->kind || x->attributes != y->attributes) return false;
  if (x->operands.size() != y->operands.size() || kernel.type(a).shape() != kernel.type(b).shape())
    return false;
  if (x->kind == OpKind::PointerAdd)
    return x->operand(1) == y->operand(1) && sameExpression(kernel, x->operand(0), y->operand(0));
  return x->operands.size() == 1 && sameExpression(kernel, x->operand(0), y->operand(0));
}

/// One value for all elements.
bool isUniform(const ir::Kernel &kernel, ir::ValueId value) {
  if (kernel.type(value).rank() == 0) return true;
  const ir::Op *op = kernel.definition(value);
  if (!op) return false;
  if (op->kind == OpKind::Constant) return true;
  return op->kind == OpKind::Broadcast && isUniform(kernel, op->operand(0));
}

/// Whether all elements of a tile of integers or of pointers are known to differ.
bool areDistinct(const ir::Kernel &kernel, ir::ValueId value) {
  const ir::Op *op = kernel.definition(value);
  if (!op) return false;
  const auto oneOf = [&] { // what wraps, wraps for all alike
    for (const size_t i : {0U, 1U})
      if (isUniform(kernel, op->operand(i)) && areDistinct(kernel, op->operand(1 - i))) return true;
    return false;
  };
  if (op->kind == OpKind::Arange) { // numbers begin again behind their bits, addresses sooner
    constexpr std::int32_t kOffsetBits = 60;
    const std::int32_t bits = std::min(info(kernel.type(value).element()).bits, kOffsetBits);
    const std::uint64_t step = llvm::AbsoluteValue(op->attrs<ir::ArangeAttrs>().step);
    const auto count = static_cast<std::uint64_t>(kernel.type(value).shape()[0]);
    return step != 0 && llvm::SaturatingMultiply(step, count) <=
                            std::uint64_t{1} << static_cast<std::uint32_t>(bits);
  }
  if (op->kind == OpKind::Add || op->kind == OpKind::Sub || op->kind == OpKind::PointerAdd)
    return oneOf();
  if (op->kind == OpKind::Reshape) return areDistinct(kernel, op->operand(0));
  if (op->kind != OpKind::Cast) return false;
  const ir::ElementKind from = kernel.type(op->operand(0)).element();
  const ir::ElementKind to = kernel.type(value).element();
  return isInteger(from) && isInteger(to) && info(to).bits >= info(from).bits &&
         areDistinct(kernel, op->operand(0));
}

bool isView(const ir::Op &op) {
  return op.kind == OpKind::ViewLoad || op.kind == OpKind::ViewStore;
}

/// What makes two boxes the same part of a view: shape, unit and coordinates.
bool sameBox(const ir::Kernel &kernel, const ir::Op &a, const ir::Op &b) {
  const auto boxOf = [&](const ir::Op &op) {
    return kernel.type(isLoad(op) ? op.result() : op.operand(1)).shape();
  };
  if (boxOf(a) != boxOf(b)) return false;
  if (a.attrs<ir::ViewAttrs>().unit != b.attrs<ir::ViewAttrs>().unit) return false;
  const size_t rank = static_cast<size_t>(boxOf(a).rank());
  const size_t firstA = isLoad(a) ? 1 : 2, firstB = isLoad(b) ? 1 : 2;
  for (size_t axis = 0; axis < rank; ++axis)
    if (a.operand(firstA + axis) != b.operand(firstB + axis)) return false;
  return true;
}

} // namespace

bool isStore(const ir::Op &op) { return op.kind == OpKind::Store || op.kind == OpKind::ViewStore; }

bool writesMemory(const ir::Op &op) {
  const auto writes = [](const ir::Op &one) {
    const ir::Effect effect = info(one.kind).effect;
    return effect == ir::Effect::Write || effect == ir::Effect::Atomic ||
           effect == ir::Effect::Observe;
  };
  return writes(op) || llvm::any_of(op.regions, [&](const ir::Block &region) {
           return ir::firstOp(region, writes) != nullptr;
         });
}

bool mayTouch(const ir::Kernel &kernel, const LaunchTraits &traits, const ir::Op &a,
              const ir::Op &b) {
  const std::optional<size_t> p = rootParameter(kernel, a.operand(0));
  const std::optional<size_t> q = rootParameter(kernel, b.operand(0));
  return !p || !q || traits.relation(*p, *q) != AliasRelation::Disjoint;
}

bool mayConflict(const ir::Kernel &kernel, const LaunchTraits &traits, const ir::Op &a,
                 const ir::Op &b) {
  const std::optional<size_t> p = rootParameter(kernel, a.operand(0));
  const std::optional<size_t> q = rootParameter(kernel, b.operand(0));
  const bool areBothViews = isView(a) && isView(b), isEither = isView(a) || isView(b);
  if (!p || !q)
    return isEither || a.operand(0) != b.operand(0) || !areDistinct(kernel, a.operand(0));
  const AliasRelation relation = traits.relation(*p, *q);
  if (relation == AliasRelation::Disjoint) return false;
  if (relation == AliasRelation::Unknown || isEither != areBothViews) return true;
  if (areBothViews) return traits.overlaps(*p) || traits.overlaps(*q) || !sameBox(kernel, a, b);
  return !sameExpression(kernel, a.operand(0), b.operand(0)) || !areDistinct(kernel, a.operand(0));
}

} // namespace imbrex::host
