#include "backend/lower/view_box.h"

#include <limits>

namespace imbrex::lower {

using ir::ElementKind;
using llvm::Value;

namespace {

/// A coordinate as i64 elements. Beyond these limits nothing is inside a view, and no product
/// below overflows.
Value *boxStart(Emitter &e, Value *coordinate, ElementKind kind, std::int64_t unit) {
  Value *start = emitCast(e.b, kind, ElementKind::I64, {}, coordinate);
  if (info(kind).bits == 64) {
    const auto bound = [&](llvm::Intrinsic::ID id, std::int64_t limit) {
      start = e.b.CreateBinaryIntrinsic(id, start, e.i64(limit));
    };
    constexpr std::int64_t kFar = std::int64_t{1} << 47;
    if (!ir::isSigned(kind)) bound(llvm::Intrinsic::umin, std::int64_t{1} << 62);
    if (unit != 1) {
      bound(llvm::Intrinsic::smin, kFar);
      bound(llvm::Intrinsic::smax, -kFar);
    }
  }
  return unit == 1 ? start : e.b.CreateMul(start, e.i64(unit));
}

} // namespace

ViewBox::ViewBox(Emitter &emitter, const ir::Op &op, ir::ValueId tile, std::size_t firstCoordinate)
    : e_(emitter), view_(emitter.view(op.operand(0))),
      layout_(emitter.kernel.layoutOf(tile).valid() ? &emitter.layoutOf(tile) : nullptr),
      shape_(emitter.type(tile).shape()),
      bits_(ir::storageBits(emitter.type(op.operand(0)).element())), start_(emitter.i64(0)),
      isUnit_(emitter.hasUnitStride(op.operand(0))) {
  for (std::int32_t axis = 0; axis < shape_.rank(); ++axis) {
    const ir::ValueId coordinate = op.operand(firstCoordinate + static_cast<std::size_t>(axis));
    addAxis(op, axis, e_.scalar(coordinate), e_.type(coordinate).element());
  }
}

void ViewBox::addAxis(const ir::Op &op, std::int32_t axis, Value *coordinate, ElementKind kind) {
  llvm::IRBuilder<> &b = e_.b;
  const auto i = static_cast<std::size_t>(axis);
  const bool inTiles = op.attrs<ir::ViewAttrs>().unit == ir::BoxUnit::Tiles;
  Value *start = boxStart(e_, coordinate, kind, inTiles ? shape_[axis] : 1);
  Value *stride = view_.strides[i];
  const bool isUnit = axis + 1 == shape_.rank() && isUnit_;
  const auto scaled = [&](Value *x) { return isUnit ? x : b.CreateMul(x, stride); };
  start_ = b.CreateAdd(start_, scaled(start));
  // Inside are the indices low … low + count - 1 of the box; the box is small, so that its threads
  // compare 32 bits with bounds that all share.
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const auto clamp = [&](Value *x) {
    Value *raised = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, e_.i64(0));
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, raised, e_.i64(kMost));
  };
  Value *first = clamp(b.CreateNeg(start)), *end = clamp(b.CreateSub(view_.extents[i], start));
  Value *length = b.CreateSelect(b.CreateICmpSGE(first, end), e_.i64(0), b.CreateSub(end, first));
  Value *thread = layout_ ? e_.splitCoordinate(*layout_, 0, axis).thread : e_.i32(0);
  axes_.push_back({.thread = scaled(b.CreateZExt(thread, b.getInt64Ty())),
                   .low = b.CreateTrunc(first, b.getInt32Ty()),
                   .count = b.CreateTrunc(length, b.getInt32Ty())});
}

Value *ViewBox::elementAt(std::size_t r) {
  llvm::IRBuilder<> &b = e_.b;
  Value *threads = e_.i64(0), *constant = start_;
  for (std::int32_t axis = 0; axis < shape_.rank(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    threads = b.CreateAdd(threads, axes_[i].thread);
    const std::int64_t ofRegister = layout_ ? e_.splitCoordinate(*layout_, r, axis).constant : 0;
    if (ofRegister == 0) continue;
    const bool isUnit = axis + 1 == shape_.rank() && isUnit_;
    constant = b.CreateAdd(constant, isUnit ? static_cast<Value *>(e_.i64(ofRegister))
                                            : b.CreateMul(e_.i64(ofRegister), view_.strides[i]));
  }
  return b.CreateAdd(threads, constant);
}

Value *ViewBox::isInside(std::size_t r) {
  llvm::SmallVector<Value *, 6> conditions;
  for (std::int32_t axis = 0; axis < shape_.rank(); ++axis) {
    const Axis &bounds = axes_[static_cast<std::size_t>(axis)];
    Value *index = layout_ ? e_.coordinate(*layout_, r, axis) : e_.i32(0);
    conditions.push_back(e_.b.CreateICmpULT(e_.b.CreateSub(index, bounds.low), bounds.count));
  }
  if (layout_) conditions.push_back(e_.isInside(*layout_, shape_, r));
  return e_.allOf(conditions);
}

Access ViewBox::at(std::size_t r, std::size_t width) {
  llvm::Type *const element = e_.b.getIntNTy(static_cast<unsigned>(bits_));
  return {.address = e_.b.CreateGEP(element, view_.data, elementAt(r)),
          .mask = isInside(r),
          .alignment = bits_ / 8 * static_cast<std::int64_t>(width)};
}

} // namespace imbrex::lower
