#include "backend/target/host/nest/lane_arithmetic.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace imbrex::host {

using llvm::Value;

AtDepth::AtDepth(LaneArithmetic &lanes, std::int32_t depth)
    : builder_(lanes.b_), saved_(builder_.saveIP()) {
  if (depth < lanes.innermost())
    builder_.SetInsertPoint(lanes.anchors_[static_cast<size_t>(depth + 1)]);
}

AtDepth::~AtDepth() { builder_.restoreIP(saved_); }

Value *LaneArithmetic::plus(Value *x, Value *y) {
  const auto isZero = [](Value *value) {
    const auto *constant = llvm::dyn_cast<llvm::Constant>(value);
    return constant && constant->isNullValue();
  };
  if (isZero(y)) return x;
  return isZero(x) ? y : b_.CreateAdd(x, y);
}

Value *LaneArithmetic::times(Value *x, Value *y) {
  const auto isOne = [](Value *value) {
    const auto *constant = llvm::dyn_cast<llvm::Constant>(value);
    return constant && constant->isOneValue();
  };
  if (isOne(y)) return x;
  return isOne(x) ? y : b_.CreateMul(x, y);
}

Value *LaneArithmetic::laneSteps(llvm::Type *element, std::int64_t step) {
  llvm::SmallVector<llvm::Constant *, 64> steps;
  for (std::int64_t lane = 0; lane < width_; ++lane)
    steps.push_back(
        llvm::ConstantInt::get(element, static_cast<std::uint64_t>(lane * step), false, true));
  return llvm::ConstantVector::get(steps);
}

Value *LaneArithmetic::vector(const Lanes &lanes) {
  if (lanes.isVector || width_ == 1) return lanes.value;
  const AtDepth at(*this, lanes.depth);
  Value *&splat = splats_[{lanes.value, lanes.depth}];
  if (!splat) splat = b_.CreateVectorSplat(static_cast<unsigned>(width_), lanes.value);
  if (lanes.step == 0) return splat;
  return b_.CreateAdd(splat, laneSteps(lanes.value->getType(), lanes.step));
}

Lanes LaneArithmetic::scaleLanes(const Lanes &x, Value *by) {
  const auto *constant = llvm::dyn_cast<llvm::ConstantInt>(by);
  const bool staysAffine = !x.isVector && (x.step == 0 || constant);
  Value *value = staysAffine ? x.value : vector(x);
  const AtDepth position(*this, x.depth);
  Value *factor = staysAffine ? by : b_.CreateVectorSplat(static_cast<unsigned>(width_), by);
  return {.value = times(value, factor),
          .isVector = !staysAffine,
          .step = staysAffine && x.step != 0 ? x.step * constant->getSExtValue() : 0,
          .depth = x.depth};
}

Lanes LaneArithmetic::addLanes(const Lanes &x, const Lanes &y) {
  const bool isVector = x.isVector || y.isVector;
  Value *first = isVector ? vector(x) : x.value;
  Value *second = isVector ? vector(y) : y.value;
  const std::int32_t depth = std::max(x.depth, y.depth);
  const AtDepth position(*this, depth);
  return {.value = plus(first, second),
          .isVector = isVector && width_ > 1,
          .step = isVector ? 0 : x.step + y.step,
          .depth = depth};
}

/// Whether any of the lanes has an index in 0 … extent - 1, if they follow each other; else taken
/// to be so.
Lanes LaneArithmetic::touches(const Coordinate &index, Value *extent) {
  if (index.isVector || index.step != 1) return uniform(b_.getTrue());
  const AtDepth position(*this, index.depth);
  Value *more = f_.index(width_ - 1);
  return uniform(b_.CreateICmpULT(plus(index.value, more), plus(extent, more)), index.depth);
}

Lanes LaneArithmetic::both(const Lanes &x, const Lanes &y) {
  if (!x.value) return y;
  const bool isOne = !x.isVector && !y.isVector;
  Value *first = isOne ? x.value : vector(x);
  Value *second = isOne ? y.value : vector(y);
  const std::int32_t depth = std::max(x.depth, y.depth);
  const AtDepth position(*this, depth);
  return {.value = b_.CreateAnd(first, second), .isVector = !isOne && width_ > 1, .depth = depth};
}

// --- indices ---

Coordinate LaneArithmetic::constant(std::int64_t value) {
  return {.value = f_.index(value), .start = f_.index(value), .multiple = value};
}

Coordinate LaneArithmetic::addConstant(const Coordinate &c, std::int64_t by) {
  return by == 0 ? c : add(c, constant(by));
}

Coordinate LaneArithmetic::add(const Coordinate &a, const Coordinate &b) {
  Coordinate result{.value = nullptr,
                    .isVector = a.isVector || b.isVector,
                    .step = a.step + b.step,
                    .depth = std::max(a.depth, b.depth),
                    .multiple = std::gcd(a.multiple, b.multiple)};
  Value *x = result.isVector ? vector(a) : a.value;
  Value *y = result.isVector ? vector(b) : b.value;
  if (a.start && b.start) {
    result.startDepth = std::max(a.startDepth, b.startDepth);
    const AtDepth outside(*this, result.startDepth);
    result.start = plus(a.start, b.start);
  }
  const AtDepth position(*this, result.depth);
  result.value = plus(x, y);
  if (result.isVector) result.step = 0;
  return result;
}

Coordinate LaneArithmetic::scale(const Coordinate &c, std::int64_t by) {
  if (by == 1) return c;
  if (by == 0) return constant(0);
  const auto multiply = [&](Value *x, std::int32_t depth) {
    const AtDepth position(*this, depth);
    return b_.CreateMul(x, llvm::ConstantInt::getSigned(x->getType(), by));
  };
  return {.value = multiply(c.value, c.depth),
          .isVector = c.isVector,
          .step = c.step * by,
          .depth = c.depth,
          .start = c.start ? multiply(c.start, c.startDepth) : nullptr,
          .startDepth = c.startDepth,
          .multiple = c.multiple * by};
}

bool LaneArithmetic::crosses(const Coordinate &c, std::int64_t by) const {
  if (c.isVector || c.step < 0) return true;
  return std::gcd(c.multiple, by) <= (width_ - 1) * c.step;
}

Coordinate LaneArithmetic::quotient(const Coordinate &c, std::int64_t by) {
  if (by == 1) return c;
  const bool isUniform = !crosses(c, by);
  Value *x = isUniform ? c.value : vector(c);
  const AtDepth position(*this, c.depth);
  Value *divisor = llvm::ConstantInt::getSigned(x->getType(), by);
  return {.value = b_.CreateUDiv(x, divisor), .isVector = !isUniform, .depth = c.depth};
}

Coordinate LaneArithmetic::remainder(const Coordinate &c, std::int64_t by) {
  if (by == 1) return constant(0);
  const bool isAffine = !crosses(c, by);
  Value *x = isAffine ? c.value : vector(c);
  const AtDepth position(*this, c.depth);
  Value *divisor = llvm::ConstantInt::getSigned(x->getType(), by);
  return {.value = b_.CreateURem(x, divisor),
          .isVector = !isAffine,
          .step = isAffine ? c.step : 0,
          .depth = c.depth,
          .multiple = isAffine ? std::gcd(c.multiple, by) : 1};
}

Coordinate LaneArithmetic::clamp(const Coordinate &c, std::int64_t extent) {
  Value *x = c.step == 0 ? c.value : vector(c);
  const AtDepth position(*this, c.depth);
  Value *low = llvm::ConstantInt::getSigned(x->getType(), 0);
  Value *high = llvm::ConstantInt::getSigned(x->getType(), extent - 1);
  Value *raised = b_.CreateSelect(b_.CreateICmpSLT(x, low), low, x);
  return {.value = b_.CreateSelect(b_.CreateICmpSGT(raised, high), high, raised),
          .isVector = x->getType()->isVectorTy(),
          .depth = c.depth};
}

Coordinate LaneArithmetic::linear(llvm::ArrayRef<std::int64_t> extents,
                                  llvm::ArrayRef<Coordinate> point) {
  Coordinate result = constant(0);
  std::int64_t stride = 1;
  for (size_t axis = extents.size(); axis-- > 0;) {
    if (extents[axis] > 1) result = add(scale(point[axis], stride), result);
    stride *= extents[axis];
  }
  return result;
}

/// Whether each lane's index, `start` + where, is in 0 … extent - 1. Negative ones are large as
/// unsigned ones. `where` is an index of the box, hence small: its lanes are compared as 32 bits
/// with bounds that the inner loop does not change.
Lanes LaneArithmetic::within(const Coordinate &where, Value *start, Value *extent) {
  const bool isUniform = !where.isVector && where.step == 0;
  if (isUniform) {
    const AtDepth position(*this, where.depth);
    return uniform(b_.CreateICmpULT(plus(where.value, start), extent), where.depth);
  }
  Value *low = nullptr, *count = nullptr;
  {
    // Inside are where = low … low + count - 1.
    const AtDepth position(*this, -1);
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    const auto clamp = [&](Value *x) {
      Value *raised = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, f_.index(0));
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, raised, f_.index(kMost));
    };
    Value *first = clamp(b_.CreateNeg(start)), *last = clamp(b_.CreateSub(extent, start));
    Value *empty = b_.CreateICmpSGE(first, last);
    Value *length = b_.CreateSelect(empty, f_.index(0), b_.CreateSub(last, first));
    const auto splat = [&](Value *x) {
      Value *narrow = b_.CreateTrunc(x, f_.i32);
      return width_ == 1 ? narrow : b_.CreateVectorSplat(static_cast<unsigned>(width_), narrow);
    };
    low = splat(first);
    count = splat(length);
  }
  const AtDepth position(*this, where.depth);
  Lanes narrow = asLanes(where);
  narrow.value = b_.CreateTrunc(where.value, lanesLike(where.value->getType(), f_.i32));
  return {.value = b_.CreateICmpULT(b_.CreateSub(vector(narrow), low), count),
          .isVector = true,
          .depth = where.depth};
}

} // namespace imbrex::host
