#include "backend/interpret/block_run.h"
#include "backend/interpret/scalar.h"
#include "backend/support/check.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

namespace imbrex::interpret {
namespace {

using ir::ElementKind;

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();

/// Coordinates count in 64 bits with a sign; an unsigned one beyond that is as far out as can be.
std::int64_t coordinate(BlockRun &run, ir::ValueId value) {
  const std::uint64_t bits = run.value(value).at(0);
  const ElementKind element = run.type(value).element();
  if (!ir::isSigned(element) && bits > static_cast<std::uint64_t>(kFar)) return kFar;
  return extended(bits, element);
}

/// a + b c; what does not fit is as far out as can be.
std::int64_t farSum(std::int64_t a, std::int64_t b, std::int64_t c) {
  std::int64_t product = 0, sum = 0;
  if (llvm::MulOverflow(b, c, product)) return (b < 0) == (c < 0) ? kFar : -kFar;
  if (llvm::AddOverflow(a, product, sum)) return product < 0 ? -kFar : kFar;
  return sum;
}

/// Which of the accesses of a tile op take place: its mask operand, if it has one.
bool isOn(BlockRun &run, const ir::Op &op, size_t mask, std::int64_t position) {
  return op.operands.size() <= mask || run.operand(op, mask).at(position) != 0;
}

ElementAccess accessThrough(BlockRun &run, const ir::Op &op, std::int64_t position,
                            size_t operand = 0) {
  const ir::Type &pointers = run.type(op.operand(operand));
  return {&op, &pointers.shape(), position, pointers.element(), false};
}

ElementAddress placeAt(BlockRun &run, const ir::Op &op, std::int64_t position, size_t operand = 0) {
  const Value &pointers = run.operand(op, operand);
  return {pointers.origin(position), pointers.at(position), false};
}

/// The elements at the pointers that are an operand; where the mask behind it is off, the operand
/// behind that, or zero.
std::optional<Value> loaded(BlockRun &run, const ir::Op &op, size_t pointers) {
  const size_t mask = pointers + 1, other = pointers + 2;
  Value result{run.type(op.operand(pointers)).shape(), {}, {}};
  for (std::int64_t i = 0; i < result.shape.elements(); ++i) {
    if (!isOn(run, op, mask, i)) {
      result.bits.push_back(op.operands.size() > other ? run.operand(op, other).at(i) : 0);
      continue;
    }
    const auto bits = run.launch().memory.read(accessThrough(run, op, i, pointers),
                                               placeAt(run, op, i, pointers));
    if (!bits) return std::nullopt;
    result.bits.push_back(*bits);
  }
  return result;
}

// ---- Atomics

ir::OpKind combineOp(ir::AtomicKind kind) {
  switch (kind) {
  case ir::AtomicKind::Add: return ir::OpKind::Add;
  case ir::AtomicKind::Min: return ir::OpKind::Min;
  case ir::AtomicKind::Max: return ir::OpKind::Max;
  case ir::AtomicKind::And: return ir::OpKind::And;
  case ir::AtomicKind::Or: return ir::OpKind::Or;
  case ir::AtomicKind::Xor: return ir::OpKind::Xor;
  case ir::AtomicKind::Exchange: break;
  }
  IMBREX_UNREACHABLE("an exchange combines nothing");
}

/// One element after the other: read, let `update` say what to write, if anything; the results are
/// the old elements.
template <class Update>
Flow runAtomic(BlockRun &run, const ir::Op &op, size_t mask, const Update &update) {
  const std::int64_t count = run.operand(op, 0).shape.elements();
  const auto &attributes = op.attrs<ir::AtomicAttrs>();
  // The threads of other blocks, which are all that a race is looked for with, are beyond a block's
  // scope: to them it is a plain access, and orders nothing.
  const bool reachesOthers = attributes.scope != ir::Scope::Block;
  Value old{
      run.type(op.result()).shape(), std::vector<std::uint64_t>(static_cast<size_t>(count)), {}};
  for (std::int64_t i = 0; i < count; ++i) {
    if (!isOn(run, op, mask, i)) continue;
    ArgumentMemory &memory = run.launch().memory;
    ElementAccess access = accessThrough(run, op, i);
    access.isAtomic = reachesOthers;
    const ElementAddress place = placeAt(run, op, i);
    if (reachesOthers) memory.acquire(place, attributes.order);
    const auto before = memory.read(access, place);
    if (!before) return Flow::Failed;
    old.bits[static_cast<size_t>(i)] = *before;
    const std::optional<std::uint64_t> after = update(i, *before);
    if (!after) continue; // and releases nothing
    if (!memory.write(access, place, *after)) return Flow::Failed;
    if (reachesOthers) memory.release(place, attributes.order);
  }
  return run.set(op.result(), std::move(old));
}

// ---- Views

/// A view's argument; of the bytes of a view of f4e2m1, whose last axis has stride 1, that of
/// these.
ir::Argument viewed(BlockRun &run, ir::ValueId view, std::int32_t number) {
  ir::Argument argument = run.launch().memory.piece(number);
  const ir::Op *op = run.kernel().definition(view);
  if (!op || op->kind != ir::OpKind::ViewBytes) return argument;
  const auto last = static_cast<size_t>(run.type(view).rank() - 1);
  argument.extents[last] /= 2;
  for (size_t axis = 0; axis < last; ++axis) argument.strides[axis] /= 2;
  return argument;
}

/// A box of a view: which of its elements lie inside the extents, and where.
class Box {
public:
  /// Which operands of an op say what the box is of and where it begins, and how they count.
  struct Operands {
    size_t view, firstCoordinate;
    ir::BoxUnit unit;
  };

  Box(BlockRun &run, const ir::Op &op, const ir::Shape &shape, Operands operands)
      : shape_(shape), number_(run.operand(op, operands.view).origin(0)),
        argument_(viewed(run, op.operand(operands.view), number_)),
        element_(run.type(op.operand(operands.view)).element()) {
    const bool inTiles = operands.unit == ir::BoxUnit::Tiles;
    for (std::int32_t axis = 0; axis < shape.rank(); ++axis) {
      const size_t operand = operands.firstCoordinate + static_cast<size_t>(axis);
      const std::int64_t at = coordinate(run, op.operand(operand));
      start_.push_back(inTiles ? farSum(0, at, shape[axis]) : at);
    }
  }

  /// Where the element at a row-major position of the box lies; none outside the view's extents.
  std::optional<ElementAddress> place(std::int64_t position) const {
    const Index index = indexAt(shape_, position);
    std::int64_t offset = 0;
    for (size_t axis = 0; axis < index.size(); ++axis) {
      const std::int64_t at = farSum(start_[axis], index[axis], 1);
      if (at < 0 || at >= argument_.extents[axis]) return std::nullopt;
      offset = farSum(offset, at, argument_.strides[axis]);
    }
    const auto base = std::bit_cast<std::uint64_t>(argument_.data);
    if (element_ != ElementKind::F4E2M1)
      return ElementAddress{
          number_, base + static_cast<std::uint64_t>(farSum(0, offset, elementBytes(element_))),
          false};
    return ElementAddress{number_, base + static_cast<std::uint64_t>(offset >> 1),
                          (offset & 1) != 0};
  }

  ElementAccess access(const ir::Op &op, std::int64_t position) const {
    return {&op, &shape_, position, element_, false};
  }

private:
  const ir::Shape &shape_;
  std::int32_t number_;
  ir::Argument argument_;
  ElementKind element_;
  Index start_;
};

/// The elements of a box; outside the view's extents the padding.
std::optional<Value> loadedBox(BlockRun &run, const ir::Op &op, const ir::Shape &shape,
                               const Box &box, std::uint64_t padding) {
  Value result{shape, {}, {}};
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const auto place = box.place(i);
    const auto bits =
        place ? run.launch().memory.read(box.access(op, i), *place) : std::optional(padding);
    if (!bits) return std::nullopt;
    result.bits.push_back(*bits);
  }
  return result;
}

std::uint64_t paddingBits(BlockRun &run, const ir::Op &op) {
  switch (op.attrs<ir::ViewAttrs>().padding) {
  case ir::Padding::Zero: return 0;
  case ir::Padding::Nan: return nanBits(run.type(op.result()).element());
  case ir::Padding::Value: return run.value(op.operands.back()).at(0);
  }
  IMBREX_UNREACHABLE("not a padding");
}

} // namespace

Flow runPointerAdd(BlockRun &run, const ir::Op &op) {
  const ir::Type &type = run.type(op.result());
  const std::int64_t size = elementBytes(type.element());
  Value result{type.shape(), {}, {}};
  for (std::int64_t i = 0; i < type.shape().elements(); ++i) {
    const ElementKind offsetElement = run.type(op.operand(1)).element();
    const std::uint64_t bits = run.operand(op, 1).at(i);
    const bool isHuge = !ir::isSigned(offsetElement) && bits > static_cast<std::uint64_t>(kFar);
    const std::int64_t offset = isHuge ? kFar : extended(bits, offsetElement);
    result.bits.push_back(run.operand(op, 0).at(i) +
                          static_cast<std::uint64_t>(farSum(0, offset, size)));
    result.origins.push_back(run.operand(op, 0).origin(i));
  }
  return run.set(op.result(), std::move(result));
}

Flow runLoad(BlockRun &run, const ir::Op &op) {
  auto result = loaded(run, op, 0);
  if (!result) return Flow::Failed;
  return run.set(op.result(), std::move(*result));
}

Flow runRingCopy(BlockRun &run, const ir::Op &op) {
  if (run.operand(op, 1).at(0) == 0) return Flow::Next;
  return runRingFill(run, op, [&] { return loaded(run, op, 2); });
}

Flow runStore(BlockRun &run, const ir::Op &op) {
  constexpr size_t kMask = 2;
  const std::int64_t count = run.operand(op, 0).shape.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    if (!isOn(run, op, kMask, i)) continue;
    if (!run.launch().memory.write(accessThrough(run, op, i), placeAt(run, op, i),
                                   run.operand(op, 1).at(i)))
      return Flow::Failed;
  }
  return Flow::Next;
}

Flow runAtomicRmw(BlockRun &run, const ir::Op &op) {
  const ir::AtomicKind kind = op.attrs<ir::AtomicAttrs>().kind;
  const ElementKind element = run.type(op.operand(0)).element();
  return runAtomic(run, op, 2, [&](std::int64_t i, std::uint64_t old) {
    const std::uint64_t value = run.operand(op, 1).at(i);
    return kind == ir::AtomicKind::Exchange ? value
                                            : evaluate(combineOp(kind), element, {old, value});
  });
}

Flow runAtomicCas(BlockRun &run, const ir::Op &op) {
  return runAtomic(run, op, 3,
                   [&](std::int64_t i, std::uint64_t old) -> std::optional<std::uint64_t> {
                     if (old != run.operand(op, 1).at(i)) return std::nullopt;
                     return run.operand(op, 2).at(i);
                   });
}

Flow runViewLoad(BlockRun &run, const ir::Op &op) {
  const ir::Shape &shape = run.type(op.result()).shape();
  const Box box(run, op, shape, {0, 1, op.attrs<ir::ViewAttrs>().unit});
  auto result = loadedBox(run, op, shape, box, paddingBits(run, op));
  if (!result) return Flow::Failed;
  return run.set(op.result(), std::move(*result));
}

namespace {

/// What the argument of a view has for the op's axis.
Flow setNumberOfView(BlockRun &run, const ir::Op &op,
                     std::array<std::int64_t, ir::Shape::kMaxRank> ir::Argument::*numbers) {
  const ir::Argument argument = viewed(run, op.operand(0), run.operand(op, 0).origin(0));
  const std::int64_t number =
      (argument.*numbers)[static_cast<size_t>(op.attrs<ir::AxisAttrs>().axis)];
  return run.set(op.result(), Value{{}, {static_cast<std::uint64_t>(number)}, {}});
}

Flow fillWithBox(BlockRun &run, const ir::Op &op, ir::BoxUnit unit) {
  return runRingFill(run, op, [&] {
    const ir::Shape &shape = run.type(op.operand(0)).shape();
    const Box box(run, op, shape, {2, 3, unit});
    constexpr std::uint64_t kOutside = 0;
    return loadedBox(run, op, shape, box, kOutside);
  });
}

} // namespace

Flow runRingCopyBox(BlockRun &run, const ir::Op &op) {
  if (run.operand(op, 1).at(0) == 0) return Flow::Next;
  return fillWithBox(run, op, op.attrs<ir::RingCopyBoxAttrs>().unit);
}

Flow runRingLoadBox(BlockRun &run, const ir::Op &op) {
  return fillWithBox(run, op, op.attrs<ir::BoxAttrs>().unit);
}

Flow runViewStore(BlockRun &run, const ir::Op &op) {
  const ir::Shape &shape = run.type(op.operand(1)).shape();
  const Box box(run, op, shape, {0, 2, op.attrs<ir::ViewAttrs>().unit});
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const auto place = box.place(i);
    if (place && !run.launch().memory.write(box.access(op, i), *place, run.operand(op, 1).at(i)))
      return Flow::Failed;
  }
  return Flow::Next;
}

Flow runViewExtent(BlockRun &run, const ir::Op &op) {
  return setNumberOfView(run, op, &ir::Argument::extents);
}

Flow runViewStride(BlockRun &run, const ir::Op &op) {
  return setNumberOfView(run, op, &ir::Argument::strides);
}

Flow runViewData(BlockRun &run, const ir::Op &op) { return run.passOn(op); }

Flow runViewBytes(BlockRun &run, const ir::Op &op) { return run.passOn(op); }

Flow runTablePointer(BlockRun &run, const ir::Op &op) {
  const std::int32_t table = run.operand(op, 0).origin(0);
  const ElementAddress first = run.launch().memory.pointee(table, coordinate(run, op.operand(1)));
  return run.set(op.result(), Value{{}, {first.address}, {first.origin}});
}

} // namespace imbrex::interpret
