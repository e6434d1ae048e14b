#include "backend/ir/builder.h"

#include "backend/support/check.h"
#include "llvm/ADT/APFloat.h"

namespace imbrex::ir {

std::unique_ptr<Op> makeOp(Kernel &kernel, OpKind kind, llvm::ArrayRef<ValueId> operands,
                           llvm::ArrayRef<Type> results, Attributes attributes, Location where) {
  auto op = std::make_unique<Op>();
  op->kind = kind;
  op->operands.assign(operands.begin(), operands.end());
  op->attributes = std::move(attributes);
  op->where = where;
  kernel.addResults(*op, results);
  return op;
}

Op &Builder::create(OpKind kind, llvm::ArrayRef<ValueId> operands, llvm::ArrayRef<Type> results,
                    Attributes attributes) {
  append(makeOp(*kernel_, kind, operands, results, std::move(attributes), where_));
  return *block_->ops.back();
}

ValueId Builder::elementwise(OpKind kind, llvm::ArrayRef<ValueId> operands) {
  const Type &last = kernel_->type(operands.back());
  const bool isComparison = info(kind).typeRule == TypeRule::Comparison;
  const Type result = isComparison ? last.withElement(ElementKind::Bool) : last;
  return create(kind, operands, result).result();
}

ValueId Builder::constantBits(const Type &type, std::uint64_t bits) {
  return create(OpKind::Constant, {}, type, ConstantAttrs{bits}).result();
}

ValueId Builder::integer(const Type &type, std::int64_t value) {
  const std::int32_t unused = 64 - info(type.element()).bits;
  return constantBits(type, static_cast<std::uint64_t>(value) << unused >> unused);
}

ValueId Builder::floating(const Type &type, double value) {
  IMBREX_CHECK(isFloat(type.element()), "a floating constant needs a float type");
  llvm::APFloat number(value);
  bool inexact = false;
  number.convert(floatFormat(type.element()), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return constantBits(type, number.bitcastToAPInt().getZExtValue());
}

ValueId Builder::broadcast(ValueId value, const Shape &shape) {
  const Type &type = kernel_->type(value);
  if (type.shape() == shape) return value;
  return create(OpKind::Broadcast, value, type.withShape(shape)).result();
}

ValueId Builder::reshape(ValueId value, const Shape &shape) {
  const Type &type = kernel_->type(value);
  if (type.shape() == shape) return value;
  return create(OpKind::Reshape, value, type.withShape(shape)).result();
}

ValueId Builder::cast(ValueId value, ElementKind to, Rounding rounding) {
  const Type &type = kernel_->type(value);
  if (type.element() == to) return value;
  return create(OpKind::Cast, value, type.withElement(to), CastAttrs{rounding}).result();
}

ValueId Builder::bitcast(ValueId value, ElementKind to) {
  const Type &type = kernel_->type(value);
  if (type.element() == to) return value;
  return create(OpKind::Bitcast, value, type.withElement(to)).result();
}

} // namespace imbrex::ir
