#include "backend/target/host/nest/body.h"

#include "backend/support/check.h"

namespace imbrex::host {

using ir::OpKind;
using llvm::Value;

void Body::setWidth(std::int32_t width) {
  restart(width);
  memo_.clear();
}

void Body::setAssumes(Assumes assumes) {
  assumes_ = assumes;
  assumedInside_.clear();
  assumedAligned_.clear();
  streamsMoreThan16_ = false;
  setWidth(width());
}

Body::Assumes Body::nextAssumes() const {
  return assumes_ == Assumes::InsideByVectors && streamsMoreThan16_ ? Assumes::InsideBy16
                                                                    : Assumes::Nothing;
}

Value *Body::takeAssumptions() {
  Value *all = nullptr;
  for (Value *assumption : assumptions_) all = all ? b_.CreateAnd(all, assumption) : assumption;
  assumptions_.clear();
  return all;
}

PointId Body::intern(const Point &point) {
  std::vector<CoordinateKey> key;
  for (const Coordinate &c : point) key.emplace_back(c.value, c.isVector, c.step, c.start);
  const auto [found, isNew] = pointIds_.try_emplace(key, static_cast<PointId>(points_.size()));
  if (isNew) points_.push_back(point);
  return found->second;
}

Value *Body::takeChecks() {
  Value *all = nullptr;
  const std::vector<Check> checks = std::move(checks_);
  checks_.clear();
  for (const Check &check : checks) {
    const ir::ElementKind element = f_.type(check.value).element();
    const auto bits = static_cast<unsigned>(info(element).bits);
    Value *first = read(check.value, intern(check.start)).value;
    // All of first … first + reach must be in the type's range.
    const llvm::APInt reach(bits, static_cast<std::uint64_t>(check.reach), true, true);
    Value *holds = nullptr;
    if (isSigned(element)) {
      const bool up = check.reach >= 0;
      const llvm::APInt limit =
          (up ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getSignedMinValue(bits)) -
          reach;
      Value *bound = llvm::ConstantInt::get(first->getType(), limit);
      holds = up ? b_.CreateICmpSLE(first, bound) : b_.CreateICmpSGE(first, bound);
    } else {
      const bool up = check.reach >= 0;
      const llvm::APInt limit = up ? llvm::APInt::getMaxValue(bits) - reach : -reach;
      Value *bound = llvm::ConstantInt::get(first->getType(), limit);
      holds = up ? b_.CreateICmpULE(first, bound) : b_.CreateICmpUGE(first, bound);
    }
    all = all ? b_.CreateAnd(all, holds) : holds;
  }
  return all;
}

Lanes Body::read(ir::ValueId value, PointId at) {
  const ir::Type &type = f_.type(value);
  const MemoKey key{value.index(), at};
  if (const auto found = memo_.find(key); found != memo_.end()) return found->second;
  if (type.rank() == 0)
    if (Value *known = f_.scalar(value)) return uniform(known);
  Lanes result;
  if (f_.plan.isKept(value) && f_.isReady(value)) {
    const BufferId buffer = f_.plan.bufferOf[value.index()];
    result = loadBuffer(f_.plan.buffers[buffer.index()], f_.bufferAddress(buffer), at);
  } else {
    const ir::Op *op = f_.kernel.definition(value);
    IMBREX_CHECK(op, "a tile has no buffer and no definition");
    result = compute(value, *op, at);
  }
  memo_[key] = result;
  return result;
}

Lanes Body::compute(ir::ValueId value, const ir::Op &op, PointId at) {
  const ir::Type &type = f_.type(value);
  switch (op.kind) {
  case OpKind::Constant:
    return uniform(splatBits(f_.laneType(type), op.attrs<ir::ConstantAttrs>().bits));
  case OpKind::Arange: return arange(op, at);
  case OpKind::ProgramId: return uniform(f_.programId(op.attrs<ir::AxisAttrs>().axis));
  case OpKind::NumPrograms: return uniform(f_.gridExtent(op.attrs<ir::AxisAttrs>().axis));
  case OpKind::Cast: return cast(op, at);
  case OpKind::Bitcast: return bitcast(op, at);
  case OpKind::Broadcast: return read(op.operand(0), broadcastPoint(op, at));
  case OpKind::Reshape:
    return read(op.operand(0), reshapePoint(f_.type(op.operand(0)).shape(), type.shape(), at));
  case OpKind::Permute: return read(op.operand(0), permutePoint(op, at));
  case OpKind::Slice: return read(op.operand(0), slicePoint(op, at));
  case OpKind::Flip: return read(op.operand(0), flipPoint(op, at));
  case OpKind::Join: return join(op, at);
  case OpKind::Split: {
    Point from = point(at);
    from.push_back(constant(value == op.result(0) ? 0 : 1));
    return read(op.operand(0), intern(from));
  }
  case OpKind::Concat: return concat(op, at);
  case OpKind::PointerAdd: return pointerAdd(op, at);
  case OpKind::Load: return load(op, at);
  case OpKind::ViewLoad: return viewLoad(op, at);
  case OpKind::ViewExtent:
    return uniform(
        f_.view(op.operand(0)).extents[static_cast<size_t>(op.attrs<ir::AxisAttrs>().axis)]);
  case OpKind::ViewStride:
    return uniform(
        f_.view(op.operand(0)).strides[static_cast<size_t>(op.attrs<ir::AxisAttrs>().axis)]);
  case OpKind::ViewBytes: break; // the HostEmitter has it from the start
  case OpKind::ViewData: return uniform(f_.view(op.operand(0)).data);
  case OpKind::TablePointer: return tablePointer(op, at);
  case OpKind::Gather: return gather(op, at);
  case OpKind::Reduce: return reduceOfOne(op, value, at);
#define IMBREX_OP(...)
#define IMBREX_ELEMENTWISE(Kind, ...) case OpKind::Kind:
#include "backend/ir/ops.def"
    return elementwise(op, at);
  case OpKind::Store:
  case OpKind::AtomicRmw:
  case OpKind::AtomicCas:
  case OpKind::ViewStore:
  case OpKind::Scan:
  case OpKind::Sort:
  case OpKind::Histogram:
  case OpKind::Dot:
  case OpKind::DotScaled:
  case OpKind::Philox:
  case OpKind::Print:
  case OpKind::Assert:
  case OpKind::Require:
  case OpKind::InlineAsm:
  case OpKind::For:
  case OpKind::While:
  case OpKind::If:
  case OpKind::Yield:
  case OpKind::BreakIf:
  case OpKind::ExitIf:
  case OpKind::VarNew:
  case OpKind::VarRead:
  case OpKind::VarWrite:
#define IMBREX_OP(...)
#define IMBREX_LAID(Kind, ...) case OpKind::Kind:
#include "backend/ir/ops.def"
    break;
  }
  IMBREX_UNREACHABLE("'{0}' is not computed element by element", info(op.kind).mnemonic);
}

Lanes Body::elementwise(const ir::Op &op, PointId at) {
  llvm::SmallVector<Lanes, 3> operands;
  std::int32_t depth = -1;
  bool allUniform = true;
  for (const ir::ValueId operand : op.operands) {
    operands.push_back(read(operand, at));
    depth = std::max(depth, operands.back().depth);
    allUniform &= operands.back().isUniform();
  }
  if (std::optional<Lanes> result = affine(op, operands)) return *result;
  if (isQuotientByOne(op, operands)) return quotientByOne(operands[0], operands[1]);
  llvm::SmallVector<Value *, 3> values;
  for (const Lanes &operand : operands)
    values.push_back(allUniform ? operand.value : vector(operand));
  const AtDepth position(*this, depth);
  // Of a select, the second operand's element: the first is its condition.
  const ir::ElementKind element = f_.type(op.operands.back()).element();
  Value *value = emitElementwise(b_, op.kind, element, values, f_.natives);
  return {.value = value, .isVector = !allUniform && width_ > 1, .depth = depth};
}

/// Sums and products that keep a fixed step between lanes. Steps are exact modulo the type's width,
/// and so are the elements: arithmetic wraps.
std::optional<Lanes> Body::affine(const ir::Op &op, llvm::ArrayRef<Lanes> operands) {
  const ir::Type &type = f_.type(op.result());
  const bool isWanted = op.kind == OpKind::Add || op.kind == OpKind::Sub || op.kind == OpKind::Mul;
  if (!isWanted || !type.isTile() || !isInteger(type.element())) return std::nullopt;
  const Lanes &x = operands[0], &y = operands[1];
  if (x.isVector || y.isVector || (x.step == 0 && y.step == 0)) return std::nullopt;
  const auto uniformConstant = [](const Lanes &lanes) -> llvm::ConstantInt * {
    return lanes.step == 0 ? llvm::dyn_cast<llvm::ConstantInt>(lanes.value) : nullptr;
  };
  const auto wrapping = [](std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  };
  std::int64_t step = 0;
  if (op.kind == OpKind::Add) {
    step = x.step + y.step;
  } else if (op.kind == OpKind::Sub) {
    step = x.step - y.step;
  } else if (llvm::ConstantInt *factor = uniformConstant(y)) {
    step = wrapping(x.step, factor->getSExtValue());
  } else if (llvm::ConstantInt *other = uniformConstant(x)) {
    step = wrapping(y.step, other->getSExtValue());
  } else {
    return std::nullopt;
  }
  const std::int32_t unused = 64 - info(type.element()).bits;
  step = static_cast<std::int64_t>(static_cast<std::uint64_t>(step) << unused) >> unused;
  const std::int32_t depth = std::max(x.depth, y.depth);
  const AtDepth position(*this, depth);
  Value *first = emitElementwise(b_, op.kind, type.element(), {x.value, y.value}, f_.natives);
  return Lanes{.value = first, .step = step, .depth = depth};
}

Lanes Body::cast(const ir::Op &op, PointId at) {
  const ir::ElementKind from = f_.type(op.operand(0)).element();
  const ir::ElementKind to = f_.type(op.result()).element();
  const Lanes x = read(op.operand(0), at);
  const AtDepth position(*this, x.depth);
  // Narrowing wraps, and an integer of the same width keeps its bits: the step stays.
  if (!x.isVector && x.step != 0 && isInteger(from) && isInteger(to) &&
      info(to).bits <= info(from).bits) {
    const std::int32_t unused = 64 - info(to).bits;
    return {.value = emitCast(b_, from, to, {}, x.value, f_.natives),
            .step =
                static_cast<std::int64_t>(static_cast<std::uint64_t>(x.step) << unused) >> unused,
            .depth = x.depth};
  }
  if (!x.isVector && x.step != 0 && isInteger(from) && isInteger(to) && info(to).bits == 64)
    return extendTo64(x, op.operand(0), at);
  const ir::Rounding rounding = op.attrs<ir::CastAttrs>().rounding;
  Value *operand = x.isUniform() ? x.value : vector(x);
  return {.value = emitCast(b_, from, to, rounding, operand, f_.natives),
          .isVector = !x.isUniform() && width_ > 1,
          .depth = x.depth};
}

} // namespace imbrex::host
