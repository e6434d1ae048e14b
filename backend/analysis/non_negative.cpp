#include "backend/analysis/non_negative.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace imbrex::analysis {
namespace {

using namespace ir;

/// Of a type, without its sign.
std::uint64_t mostOf(ElementKind element) {
  const std::int32_t bits = info(element).bits - (isSigned(element) ? 1 : 0);
  return llvm::maxUIntN(static_cast<std::uint64_t>(bits));
}

bool isIntegerTile(const Type &type) { return type.isTile() && isInteger(type.element()); }

std::optional<std::uint64_t> ofConstant(const Op &op, ElementKind element) {
  const std::uint64_t bits = op.attrs<ConstantAttrs>().bits;
  return bits <= mostOf(element) ? std::optional(bits) : std::nullopt;
}

std::optional<std::uint64_t> ofArange(const Op &op, const Type &type) {
  const auto &attrs = op.attrs<ArangeAttrs>();
  if (attrs.start < 0 || attrs.step < 0) return std::nullopt;
  const std::int64_t last = attrs.start + (type.shape()[0] - 1) * attrs.step;
  return std::min(static_cast<std::uint64_t>(last), mostOf(type.element()));
}

} // namespace

NonNegative::NonNegative(const Kernel &kernel, const Assumptions &assumptions)
    : most_(kernel.valueCount()) {
  const auto add = [&](ValueId value, Most most) {
    const Type &type = kernel.type(value);
    if (!most && isIntegerTile(type) && !isSigned(type.element())) most = mostOf(type.element());
    most_[value.index()] = most;
  };
  for (const ValueId parameter : kernel.body().arguments) add(parameter, std::nullopt);
  walk(kernel.body(), [&](const Op &op) {
    for (const ValueId result : op.results) add(result, follows(kernel, assumptions, op));
    for (const Block &region : op.regions)
      for (const ValueId argument : region.arguments) add(argument, std::nullopt);
    if (op.kind != OpKind::For || !contains(op.operand(0)) || !contains(op.operand(2))) return;
    const ValueId index = op.regions[0].arguments[0];
    const std::uint64_t high = most(op.operand(1)).value_or(mostOf(kernel.type(index).element()));
    add(index, std::max<std::uint64_t>(high, 1) - 1);
    endOf_.emplace(index, op.operand(1));
  });
}

NonNegative::Most NonNegative::follows(const Kernel &kernel, const Assumptions &assumptions,
                                       const Op &op) const {
  if (op.kind == OpKind::ProgramId || op.kind == OpKind::NumPrograms) return kMostSmall;
  if (op.kind == OpKind::ViewExtent)
    return assumptions.of(kernel, op.operand(0)).hasSmallExtents ? kMostSmall
                                                                 : mostOf(ElementKind::I64);
  if (op.results.size() != 1 || !isIntegerTile(kernel.type(op.result()))) return std::nullopt;
  if (op.kind == OpKind::Constant) return ofConstant(op, kernel.type(op.result()).element());
  if (op.kind == OpKind::Arange) return ofArange(op, kernel.type(op.result()));
  if (op.kind == OpKind::Broadcast || op.kind == OpKind::Reshape || op.kind == OpKind::Permute)
    return most(op.operand(0));
  if (op.kind == OpKind::Cast || op.kind == OpKind::Bitcast) return ofConversion(kernel, op);
  if (op.kind == OpKind::Sub) return ofDifference(kernel, op);
  return ofArithmetic(kernel, op);
}

NonNegative::Most NonNegative::ofConversion(const Kernel &kernel, const Op &op) const {
  const Type &from = kernel.type(op.operand(0));
  const ElementKind element = kernel.type(op.result()).element();
  const bool isWhole = isIntegerTile(from) &&
                       (op.kind == OpKind::Cast || info(from.element()).bits == info(element).bits);
  const Most held = most(op.operand(0));
  return isWhole && held && *held <= mostOf(element) ? held : std::nullopt;
}

/// Of other ops nothing is known.
NonNegative::Most NonNegative::ofArithmetic(const Kernel &kernel, const Op &op) const {
  const ElementKind element = kernel.type(op.result()).element();
  const auto operand = [&](std::size_t i) { return most(op.operand(i)); };
  const auto both = [&] { return operand(0) && operand(1); };
  const auto within = [&](std::uint64_t most) {
    return most <= mostOf(element) ? Most(most) : std::nullopt;
  };
  if (op.kind == OpKind::Add && both())
    return within(llvm::SaturatingAdd(*operand(0), *operand(1)));
  if (op.kind == OpKind::Mul && both())
    return within(llvm::SaturatingMultiply(*operand(0), *operand(1)));
  if ((op.kind == OpKind::Div || op.kind == OpKind::CeilDiv) && both()) {
    const std::uint64_t by =
        std::max<std::uint64_t>(constantBits(kernel, op.operand(1)).value_or(1), 1);
    return op.kind == OpKind::Div ? *operand(0) / by : llvm::divideCeil(*operand(0), by);
  }
  if (op.kind == OpKind::Min && both()) return std::min(*operand(0), *operand(1));
  if (op.kind == OpKind::Rem || op.kind == OpKind::Shr) return operand(0);
  if (op.kind == OpKind::And) {
    if (both()) return std::min(*operand(0), *operand(1));
    return operand(0) ? operand(0) : operand(1);
  }
  if (op.kind == OpKind::Max && (operand(0) || operand(1)))
    return both() ? std::max(*operand(0), *operand(1)) : mostOf(element);
  if (op.kind == OpKind::Select && operand(1) && operand(2))
    return std::max(*operand(1), *operand(2));
  return std::nullopt;
}

/// Of the end of a loop that counts up, and of its index; or of a number and 0.
NonNegative::Most NonNegative::ofDifference(const Kernel &kernel, const Op &op) const {
  if (constantBits(kernel, op.operand(1)) == std::uint64_t{0}) return most(op.operand(0));
  const auto end = endOf_.find(op.operand(1));
  return end != endOf_.end() && end->second == op.operand(0) ? most(op.operand(0)) : std::nullopt;
}

bool NonNegative::containsOrFar(const Kernel &kernel, ValueId value) const {
  if (contains(value)) return true;
  const Op *sum = kernel.definition(value);
  if (!sum || sum->kind != OpKind::Add || info(kernel.type(value).element()).bits < 32)
    return false;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto constant = constantBits(kernel, sum->operand(i));
    if (constant && *constant <= kFar && contains(sum->operand(1 - i))) return true;
  }
  return false;
}

} // namespace imbrex::analysis
