#include "tests/support/random_generator.h"

#include <algorithm>
#include <limits>

/// Memory that a block reads and writes again and again: loads behind stores, stores behind loads,
/// by pointers and by boxes, through one parameter or through two that name the same memory.
namespace imbrex::testing {

using namespace ir;

namespace {

constexpr std::int64_t kMostOwn = 200; // elements of a block, so that accesses often meet

} // namespace

/// New memory, at least `least` elements a block: a pointer, a table with a pointer for each block,
/// or a dense view whose slabs along axis 0 are the blocks'.
Generator::Own Generator::newOwn(ElementKind kind, std::int64_t least) {
  const std::int64_t blocks = grid_.blocks();
  Shape slab = shape(1, 3);
  while (slab.elements() > kMostOwn) slab = shape(1, 3);
  if (chance(50) || slab.elements() < least) {
    slab = Shape{std::max(least, slab.elements())};
    ArgumentSpec spec{.type = Type::pointerTile(kind), .elements = slab.elements() * blocks};
    if (chance(20)) asTable(spec);
    return own_.emplace_back(Own{parameter("own", spec), slab});
  }
  ArgumentSpec spec{.type = Type::view(kind, slab.rank(), false),
                    .elements = slab.elements() * blocks};
  std::int64_t stride = 1;
  for (std::int32_t axis = slab.rank(); axis-- > 0;) {
    spec.extents[static_cast<std::size_t>(axis)] = slab[axis] * (axis == 0 ? blocks : 1);
    spec.strides[static_cast<std::size_t>(axis)] = stride;
    stride *= slab[axis];
  }
  // The last slab may be cut: its memory is there, but no box reaches it.
  spec.extents[0] -= number(0, slab[0] / 2);
  return own_.emplace_back(Own{parameter("own", spec), slab});
}

/// A pointer to each block's part.
void Generator::asTable(ArgumentSpec &spec) {
  spec.type = Type::table(spec.type.element());
  spec.parts = grid_.blocks();
}

/// Old memory where there is some that is large enough.
Generator::Own Generator::anyOwn(ElementKind kind, std::int64_t least) {
  std::vector<Own> found;
  std::ranges::copy_if(own_, std::back_inserter(found), [&](const Own &own) {
    return type(own.parameter).element() == kind && own.slab.elements() >= least;
  });
  if (found.empty()) return newOwn(kind, least);
  const Own own = oneOf(found);
  return chance(15) ? renamed(own) : own;
}

/// Another parameter for the same memory.
Generator::Own Generator::renamed(const Own &own) {
  const auto &parameters = kernel_.body().arguments;
  const auto first = std::ranges::find(parameters, own.parameter) - parameters.begin();
  ArgumentSpec spec = arguments_[static_cast<std::size_t>(first)];
  if (spec.sharesWith < 0) spec.sharesWith = static_cast<std::int32_t>(first);
  if (chance(40)) spec.type = Type::pointerTile(spec.type.element());
  if (chance(20)) asTable(spec);
  const Shape slab = spec.type.isView() ? own.slab : Shape{own.slab.elements()};
  return own_.emplace_back(Own{parameter("same", spec), slab});
}

/// Where this block's elements begin, in elements.
ValueId Generator::ownStart(const Own &own) {
  if (type(own.parameter).isTable()) return integer(ElementKind::I32, 0); // of its own pointer
  return value(OpKind::Mul, {blockNumber(), integer(ElementKind::I32, own.slab.elements())},
               Type::tile(ElementKind::I32));
}

ValueId Generator::ownBase(const Own &own) {
  const Type pointer = Type::pointerTile(type(own.parameter).element());
  if (type(own.parameter).isTable())
    return value(OpKind::TablePointer, {own.parameter, blockNumber()}, pointer);
  if (!type(own.parameter).isView()) return own.parameter;
  return value(OpKind::ViewData, own.parameter, pointer);
}

/// Each index at an address of its own: in order from the first element, mostly.
ValueId Generator::ownPointers(const Own &own, const Shape &shape) {
  const std::int64_t count = shape.elements(), held = own.slab.elements();
  const std::int64_t step = count > 1 && chance(15) ? number(1, (held - 1) / (count - 1)) : 1;
  const std::int64_t spare = held - (count - 1) * step - 1;
  const Type index = Type::tile(ElementKind::I32), offsets = Type::tile(index.element(), shape);
  ValueId start = ownStart(own);
  if (chance(30)) {
    const ValueId shift = chance(50) ? builder().cast(indexBelow(spare + 1, {}), ElementKind::I32)
                                     : integer(ElementKind::I32, number(0, spare));
    start = value(OpKind::Add, {start, shift}, index);
  }
  const Type pointers = Type::pointerTile(type(own.parameter).element(), shape);
  if (shape.rank() == 0) return value(OpKind::PointerAdd, {ownBase(own), start}, pointers);
  const ArangeAttrs attrs{.start = 0, .step = step};
  ValueId offset = emit(OpKind::Arange, {}, index.withShape(Shape{count}), attrs).result();
  offset = builder().reshape(offset, shape);
  if (chance(15)) {
    const AxisAttrs axis{static_cast<std::int32_t>(number(0, shape.rank() - 1))};
    offset = emit(OpKind::Flip, offset, offsets, axis).result();
  }
  offset = value(OpKind::Add, {offset, builder().broadcast(start, shape)}, offsets);
  return value(OpKind::PointerAdd, {builder().broadcast(ownBase(own), shape), offset}, pointers);
}

/// Any of this block's elements, one for several indices perhaps: to load only.
ValueId Generator::anyOwnPointers(const Own &own, const Shape &shape) {
  const Type offsets = Type::tile(ElementKind::I64, shape);
  ValueId offset = builder().cast(indexBelow(own.slab.elements(), shape), ElementKind::I64);
  const ValueId start = builder().cast(ownStart(own), ElementKind::I64);
  offset = value(OpKind::Add, {offset, builder().broadcast(start, shape)}, offsets);
  return value(OpKind::PointerAdd, {builder().broadcast(ownBase(own), shape), offset},
               Type::pointerTile(type(own.parameter).element(), shape));
}

/// Far outside of any view, where a product with a box's extent or a sum with it would wrap.
ValueId Generator::farCoordinate() {
  const std::int64_t low = std::numeric_limits<std::int64_t>::min(), high = ~low;
  const std::int64_t near = number(0, 3), power = std::int64_t{1} << number(31, 62);
  return integer(
      one({ElementKind::I64, ElementKind::I64, ElementKind::U64}),
      one({low + near, high - near, high - near, power - near, power + near, near - power}));
}

/// A coordinate that may be anywhere: what is outside of a view is padding, or is not stored.
ValueId Generator::coordinate() {
  if (chance(35)) return indexBelow(5, {});
  if (chance(10)) return of(Type::tile(element(Domain::Integer)));
  if (chance(12)) return farCoordinate();
  const ElementKind kind = element(Domain::Integer);
  return integer(kind, number(isSigned(kind) ? -2 : 0, 4));
}

/// A box of the block's slab, of which the other axes may reach beyond the view.
std::vector<ValueId> Generator::ownBox(const Own &own, const Shape &box, BoxUnit unit) {
  const Type index = Type::tile(ElementKind::I32);
  const std::int64_t rows = own.slab[0];
  const std::int64_t step = unit == BoxUnit::Tiles ? rows / box[0] : rows;
  ValueId first = value(OpKind::Mul, {blockNumber(), integer(ElementKind::I32, step)}, index);
  if (chance(30)) {
    const std::int64_t last = unit == BoxUnit::Tiles ? step - 1 : rows - box[0];
    first = value(OpKind::Add, {first, integer(ElementKind::I32, number(0, last))}, index);
  }
  std::vector<ValueId> coordinates{chance(5) ? farCoordinate() : first};
  for (std::int32_t axis = 1; axis < box.rank(); ++axis)
    coordinates.push_back(chance(60) ? integer(ElementKind::I32, 0) : coordinate());
  return coordinates;
}

void Generator::accessOwnBox(const Own &own, bool stores) {
  Shape box = own.slab;
  for (std::int32_t axis = 0; axis < box.rank(); ++axis)
    if (chance(25)) box = box.withAxis(axis, number(1, axis == 0 ? box[0] : box[axis] + 2));
  const ViewAttrs attrs{.unit = own.slab[0] % box[0] == 0 ? any<BoxUnit>() : BoxUnit::Elements};
  const Type boxes = Type::tile(type(own.parameter).element(), box);
  std::vector<ValueId> operands = ownBox(own, box, attrs.unit);
  if (!stores) {
    operands.insert(operands.begin(), own.parameter);
    keep(emit(OpKind::ViewLoad, operands, boxes, attrs).result());
    return;
  }
  operands.insert(operands.begin(), {own.parameter, of(boxes)});
  emit(OpKind::ViewStore, operands, {}, attrs);
}

void Generator::accessOwn(const Own &own, const Shape &shape, bool stores) {
  const Type tiles = Type::tile(type(own.parameter).element(), shape);
  std::vector<ValueId> operands;
  operands.push_back(stores || chance(70) ? ownPointers(own, shape) : anyOwnPointers(own, shape));
  if (stores) operands.push_back(of(tiles));
  if (chance(25)) operands.push_back(of(tiles.withElement(ElementKind::Bool)));
  if (stores)
    emit(OpKind::Store, operands, {}, memoryAttrs());
  else
    keep(emit(OpKind::Load, operands, tiles, memoryAttrs()).result());
}

/// Several in a row, mostly of one shape: what a target may do in one loop, or must not.
void Generator::emitOwnAccesses() {
  ElementKind kind = one({ElementKind::I32, ElementKind::F32, element(Domain::Any)});
  if (kind == ElementKind::F4E2M1) kind = ElementKind::U8;
  const Shape wanted = shape();
  for (std::int64_t i = number(2, 5); i > 0; --i) {
    const Own own = anyOwn(kind, wanted.elements());
    if (type(own.parameter).isView() && chance(50))
      accessOwnBox(own, chance(50));
    else
      accessOwn(own, wanted, chance(50));
    if (chance(30)) emitRandom();
  }
}

} // namespace imbrex::testing
