#include "tests/support/random_generator.h"

#include <algorithm>
#include <functional>

namespace imbrex::testing {

using namespace ir;

namespace {

/// Strides of a dense layout whose axes lie in memory in the given order, outermost first, with
/// `gap` unused elements behind each row of the innermost. The memory's size in elements.
std::int64_t layOut(ArgumentSpec &spec, llvm::ArrayRef<std::int64_t> order, std::int64_t gap) {
  std::int64_t size = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[i]);
    spec.strides[axis] = size;
    size = size * spec.extents[axis] + gap;
    gap = 0;
  }
  return size;
}

} // namespace

ValueId Generator::parameter(std::string_view prefix, ArgumentSpec spec) {
  spec.seed = static_cast<std::uint32_t>(rng_());
  const std::string name = std::string(prefix) + std::to_string(arguments_.size());
  arguments_.push_back(spec);
  return kernel_.addParameter(name, spec.type);
}

Generator::Memory Generator::input(ElementKind kind) {
  const Type wanted = Type::pointerTile(kind, {}, true);
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    if (arguments_[i].type == wanted && chance(70))
      return {kernel_.body().arguments[i], arguments_[i].elements};
  const std::int64_t elements = number(1, 300);
  return {parameter("in", {.type = wanted, .elements = elements}), elements};
}

ValueId Generator::pointersInto(const Memory &memory, const Shape &shape) {
  const Type pointers = type(memory.pointer).withShape(shape);
  const ValueId base = builder().broadcast(memory.pointer, shape);
  ValueId result = value(OpKind::PointerAdd, {base, indexBelow(memory.elements, shape)}, pointers);
  if (shape.rank() > 0 && chance(15)) {
    const AxisAttrs attrs{static_cast<std::int32_t>(number(0, shape.rank() - 1))};
    result = emit(OpKind::Flip, result, pointers, attrs).result();
  }
  return result;
}

MemoryAttrs Generator::memoryAttrs() {
  if (chance(60)) return {};
  return {.cache = any<Cache>(), .eviction = any<Eviction>()};
}

AtomicAttrs Generator::atomicAttrs(AtomicKind kind) {
  return {.kind = kind, .order = any<MemoryOrder>(), .scope = one({Scope::Device, Scope::System})};
}

ValueId Generator::blockNumber() { return block_number_; }

/// Pointers into memory of which each block and each index has its own.
ValueId Generator::ownPointers(ElementKind kind, const Shape &shape) {
  const std::int64_t count = shape.elements();
  // At the end everything that was computed is left where nothing else is written.
  const bool isNew = isEnding_ || chance(60);
  return ownPointers(isNew ? newOwn(kind, count) : anyOwn(kind, count), shape);
}

/// Memory behind the end is never touched, because the mask says where it ends.
void Generator::emitLoad() {
  ElementKind kind = element(Domain::Any);
  while (kind == ElementKind::F4E2M1) kind = element(Domain::Any);
  const Shape wanted = shape();
  const Memory memory = input(kind);
  const Type loaded = Type::tile(kind, wanted), masks = loaded.withElement(ElementKind::Bool);
  std::vector<ValueId> operands;
  if (chance(50)) {
    operands = {pointersInto(memory, wanted)};
    if (chance(50)) operands.push_back(of(masks));
  } else {
    const Type all = Type::tile(ElementKind::I64, Shape{wanted.elements()});
    const ArangeAttrs attrs{.start = 0, .step = number(1, 3)};
    ValueId offsets = emit(OpKind::Arange, {}, all, attrs).result();
    offsets = builder().reshape(offsets, wanted);
    const ValueId end = builder().integer(type(offsets), memory.elements);
    const ValueId base = builder().broadcast(memory.pointer, wanted);
    operands = {value(OpKind::PointerAdd, {base, offsets}, type(base)),
                value(OpKind::Lt, {offsets, end}, masks)};
  }
  if (operands.size() == 2 && chance(50)) operands.push_back(of(loaded));
  keep(emit(OpKind::Load, operands, loaded, memoryAttrs()).result());
}

void Generator::emitStore(ValueId value) {
  const Type given = type(value);
  if (given.element() == ElementKind::F4E2M1) {
    if (fitsView(given)) return emitViewStore(value);
    return emitStore(builder().cast(value, ElementKind::F32));
  }
  const ValueId pointers = ownPointers(given.element(), given.shape());
  llvm::SmallVector<ValueId, 3> operands{pointers, value};
  if (chance(30)) operands.push_back(of(given.withElement(ElementKind::Bool)));
  emit(OpKind::Store, operands, {}, memoryAttrs());
  if (chance(20)) keep(emit(OpKind::Load, pointers, given, memoryAttrs()).result());
}

void Generator::emitAtomicRmw() {
  const AtomicKind kind = any<AtomicKind>();
  ElementKind element =
      one({ElementKind::I32, ElementKind::U32, ElementKind::I64, ElementKind::U64});
  if (kind == AtomicKind::Add && chance(40)) element = this->element(Domain::Floating);
  if (kind == AtomicKind::Exchange && chance(40))
    element = one({ElementKind::I16, ElementKind::F16, ElementKind::BF16, ElementKind::F64});
  const Type values = Type::tile(element, shape());
  const ValueId pointers = ownPointers(element, values.shape());
  llvm::SmallVector<ValueId, 3> operands{pointers, of(values)};
  if (chance(40)) operands.push_back(of(values.withElement(ElementKind::Bool)));
  keep(emit(OpKind::AtomicRmw, operands, values, atomicAttrs(kind)).result());
}

/// All blocks on a few words: what is left there is the same in any order, but what an access finds
/// is not, so that nothing uses the result.
void Generator::emitSharedAdd() {
  const Shape shape = this->shape();
  const Type values = Type::tile(one({ElementKind::I32, ElementKind::U64}), shape);
  const std::int64_t words = number(1, 8);
  const Memory memory{
      parameter("sum", {.type = Type::pointerTile(values.element()), .elements = words}), words};
  const ValueId pointers = pointersInto(memory, values.shape());
  const AtomicKind kind = one({AtomicKind::Add, AtomicKind::Min, AtomicKind::Max, AtomicKind::And,
                               AtomicKind::Or, AtomicKind::Xor});
  emit(OpKind::AtomicRmw, {pointers, of(values)}, values, atomicAttrs(kind));
}

void Generator::emitAtomicCas() {
  const ElementKind kind = one({ElementKind::I16, ElementKind::U16, ElementKind::I32,
                                ElementKind::U32, ElementKind::I64, ElementKind::U64});
  const Type values = Type::tile(kind, shape());
  const ValueId pointers = ownPointers(kind, values.shape());
  // Half of the time what memory holds, so that some exchanges happen.
  ValueId expected = of(values);
  if (chance(60)) {
    const ValueId held = emit(OpKind::Load, pointers, values, memoryAttrs()).result();
    const ValueId mask = of(values.withElement(ElementKind::Bool));
    expected = value(OpKind::Select, {mask, held, expected}, values);
  }
  llvm::SmallVector<ValueId, 4> operands{pointers, expected, of(values)};
  if (chance(40)) operands.push_back(of(values.withElement(ElementKind::Bool)));
  keep(emit(OpKind::AtomicCas, operands, values, atomicAttrs(AtomicKind::Add)).result());
}

/// A view to read with extents of at least these.
ValueId Generator::inputView(ElementKind kind, const Shape &least) {
  const std::int32_t rank = least.rank();
  const Type wanted = Type::view(kind, rank, true);
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const auto &extents = arguments_[i].extents;
    const bool isLarge = std::ranges::equal(
        least.extents(), llvm::ArrayRef(extents.data(), least.extents().size()), std::less_equal());
    if (arguments_[i].type == wanted && isLarge && chance(70)) return kernel_.body().arguments[i];
  }
  ArgumentSpec spec{.type = wanted};
  for (std::int32_t axis = 0; axis < rank; ++axis) {
    const std::int64_t room = least[axis] + number(0, 2);
    spec.extents[static_cast<std::size_t>(axis)] = std::max(number(1, rank < 3 ? 20 : 6), room);
  }
  const std::int64_t gap = number(0, 2);
  spec.elements = layOut(spec, order(rank).order, gap);
  return parameter("view", spec);
}

ValueId Generator::inputView(ElementKind kind, std::int32_t rank) {
  Shape least;
  while (least.rank() < rank) least = least.withAppended(1);
  return inputView(kind, least);
}

/// Half of the boxes lie inside of their view but for one far axis perhaps: a target has a way of
/// its own for those, and must see which they are.
void Generator::emitViewLoad() {
  const Type box = anyType(Domain::Any, 1);
  ViewAttrs attrs{.unit = any<BoxUnit>(), .padding = any<Padding>()};
  if (chance(30)) attrs.cache = any<Cache>();
  if (chance(30)) attrs.eviction = any<Eviction>();
  if (attrs.padding == Padding::Nan && !isFloat(box.element())) attrs.padding = Padding::Zero;
  const bool isInside = chance(50);
  std::vector<ValueId> operands{isInside ? inputView(box.element(), box.shape())
                                         : inputView(box.element(), box.rank())};
  for (std::int32_t axis = 0; axis < box.rank(); ++axis)
    operands.push_back(isInside ? integer(ElementKind::I32, 0) : coordinate());
  if (isInside && chance(40))
    operands[static_cast<std::size_t>(number(1, box.rank()))] =
        chance(50) ? farCoordinate() : coordinate();
  if (attrs.padding == Padding::Value) operands.push_back(of(box.withShape({})));
  keep(emit(OpKind::ViewLoad, operands, box, attrs).result());
}

/// Two blocks must not share a byte, and an f4e2m1 is half of one.
bool Generator::fitsView(const Type &type) const {
  if (type.rank() == 0) return false;
  return type.element() != ElementKind::F4E2M1 || type.shape()[type.rank() - 1] % 2 == 0;
}

/// Into a new view; along axis 0 each block has its own box, of which the view may lack a part.
void Generator::emitViewStore(ValueId value) {
  const Type box = type(value);
  const bool isNibble = box.element() == ElementKind::F4E2M1;
  ArgumentSpec spec{.type = Type::view(box.element(), box.rank(), false)};
  for (std::int32_t axis = 0; axis < box.rank(); ++axis) {
    const std::int64_t extent = box.shape()[axis];
    const std::int64_t whole = axis == 0 ? extent * grid_.blocks() : extent * number(1, 2);
    const std::int64_t missing = isNibble ? 0 : number(0, extent / 2);
    spec.extents[static_cast<std::size_t>(axis)] = std::max<std::int64_t>(whole - missing, 1);
  }
  PermuteAttrs axes = order(box.rank());
  if (isNibble) std::ranges::sort(axes.order);
  spec.elements = layOut(spec, axes.order, isNibble ? 0 : number(0, 2));
  const ViewAttrs attrs{.unit = any<BoxUnit>()};
  std::vector<ValueId> operands{parameter("box", spec), value};
  const Type index = Type::tile(ElementKind::I32);
  const std::int64_t step = attrs.unit == BoxUnit::Tiles ? 1 : box.shape()[0];
  operands.push_back(
      this->value(OpKind::Mul, {blockNumber(), integer(ElementKind::I32, step)}, index));
  for (std::int32_t axis = 1; axis < box.rank(); ++axis)
    operands.push_back(integer(element(Domain::Integer), isNibble ? 0 : number(0, 1)));
  emit(OpKind::ViewStore, operands, {}, attrs);
}

void Generator::emitViewQuestion(OpKind kind) {
  const auto rank = static_cast<std::int32_t>(number(1, Shape::kMaxRank));
  const ValueId view = inputView(element(Domain::Any), rank);
  const AxisAttrs attrs{static_cast<std::int32_t>(number(0, rank - 1))};
  keep(emit(kind, view, Type::tile(ElementKind::I64), attrs).result());
}

void Generator::emitViewData() {
  ElementKind kind = element(Domain::Any);
  while (kind == ElementKind::F4E2M1) kind = element(Domain::Any);
  const auto rank = static_cast<std::int32_t>(number(1, 3));
  const ValueId view = inputView(kind, rank);
  const auto &parameters = kernel_.body().arguments;
  const auto which = std::ranges::find(parameters, view) - parameters.begin();
  const std::int64_t elements = arguments_[static_cast<std::size_t>(which)].elements;
  const ValueId data = value(OpKind::ViewData, view, Type::pointerTile(kind, {}, true));
  const Type loaded = Type::tile(kind, shape());
  const ValueId pointers = pointersInto({data, elements}, loaded.shape());
  keep(emit(OpKind::Load, pointers, loaded, memoryAttrs()).result());
}

/// Rows are whole bytes, and the last axis has stride 1.
void Generator::emitViewBytes() {
  const Type box = Type::tile(ElementKind::U8, shape(1));
  ArgumentSpec spec{.type = Type::view(ElementKind::F4E2M1, box.rank(), true)};
  llvm::SmallVector<std::int64_t, 5> axes;
  for (std::int32_t axis = 0; axis < box.rank(); ++axis) {
    const std::int64_t bytes = axis + 1 == box.rank() ? 2 : 1;
    spec.extents[static_cast<std::size_t>(axis)] = bytes * number(1, box.rank() < 3 ? 20 : 6);
    axes.push_back(axis);
  }
  spec.elements = layOut(spec, axes, 2 * number(0, 2));
  const Type bytes = Type::view(ElementKind::U8, box.rank(), true);
  std::vector<ValueId> operands{value(OpKind::ViewBytes, parameter("nibbles", spec), bytes)};
  for (std::int32_t axis = 0; axis < box.rank(); ++axis) operands.push_back(coordinate());
  keep(emit(OpKind::ViewLoad, operands, box, ViewAttrs{.unit = any<BoxUnit>()}).result());
}

/// A number that is none of the table's gives the null pointer, through which nothing is read.
void Generator::emitTablePointer() {
  ElementKind kind = element(Domain::Any);
  while (kind == ElementKind::F4E2M1) kind = element(Domain::Any);
  const std::int64_t parts = number(1, 4), each = number(1, 80);
  const Type wanted = Type::table(kind, true), pointer = Type::pointerTile(kind, {}, true);
  const ValueId table =
      parameter("table", {.type = wanted, .elements = parts * each, .parts = parts});
  const bool isIn = chance(80);
  const auto constantIndex = [&] {
    const std::int64_t at = isIn         ? number(0, parts - 1)
                            : chance(50) ? number(-3, -1)
                                         : number(parts, parts + 9);
    return integer(one({ElementKind::I32, ElementKind::I64, ElementKind::I8}), at);
  };
  const ValueId index = isIn && chance(50) ? builder().cast(indexBelow(parts, {}), ElementKind::I32)
                                           : constantIndex();
  const ValueId first = value(OpKind::TablePointer, {table, index}, pointer);
  const Type loaded = Type::tile(kind, shape());
  std::vector<ValueId> operands{pointersInto({first, each}, loaded.shape())};
  if (!isIn) {
    const Type masks = loaded.withElement(ElementKind::Bool);
    operands.push_back(emit(OpKind::Constant, {}, masks, ConstantAttrs{0}).result());
  }
  keep(emit(OpKind::Load, operands, loaded, memoryAttrs()).result());
}

/// A loop that carries pointers forward through a buffer, as a matrix product does.
void Generator::emitPointerWalk() {
  const ElementKind kind = one({ElementKind::I32, ElementKind::F32, ElementKind::U8});
  const std::int64_t trips = number(1, 4), step = number(1, 9);
  const Type tiles = Type::tile(kind, shape(0, 1));
  const Type pointers = Type::pointerTile(kind, tiles.shape(), true);
  // The first pointers may lie anywhere below `reach`; each trip goes on by `step`.
  const std::int64_t reach = number(1, 50);
  const ArgumentSpec spec{.type = pointers.withShape({}), .elements = reach + trips * step};
  const ValueId first = pointersInto({parameter("walk", spec), reach}, tiles.shape());
  const Type index = Type::tile(ElementKind::I32);
  const bool isTraced = options_.stage == Stage::Traced;
  const std::vector<Type> carried =
      isTraced ? std::vector<Type>{} : std::vector<Type>{pointers, tiles};
  std::vector<ValueId> operands{integer(ElementKind::I32, 0), integer(ElementKind::I32, trips),
                                integer(ElementKind::I32, 1)};
  std::vector<ValueId> variables;
  const ValueId start = of(tiles);
  if (isTraced)
    variables = {value(OpKind::VarNew, first, Type::variable(pointers)),
                 value(OpKind::VarNew, start, Type::variable(tiles))};
  else
    operands.insert(operands.end(), {first, start});
  Op &loop = emit(OpKind::For, operands, carried);
  Block &body = loop.regions.emplace_back();
  body.arguments.push_back(kernel_.newValue(index));
  for (const Type &type : carried) body.arguments.push_back(kernel_.newValue(type));
  inside(body, [&] {
    const ValueId at =
        isTraced ? value(OpKind::VarRead, variables[0], pointers) : body.arguments[1];
    const ValueId sum = isTraced ? value(OpKind::VarRead, variables[1], tiles) : body.arguments[2];
    const ValueId loaded = emit(OpKind::Load, at, tiles, memoryAttrs()).result();
    const ValueId next = value(OpKind::Max, {sum, loaded}, tiles);
    const ValueId offset = builder().integer(Type::tile(ElementKind::I64, tiles.shape()), step);
    const ValueId moved = value(OpKind::PointerAdd, {at, offset}, pointers);
    if (isTraced) {
      emit(OpKind::VarWrite, {variables[0], moved}, {});
      emit(OpKind::VarWrite, {variables[1], next}, {});
      emit(OpKind::Yield, {}, {});
    } else {
      emit(OpKind::Yield, {moved, next}, {});
    }
  });
  if (isTraced)
    keep(value(OpKind::VarRead, variables[1], tiles));
  else
    keep(loop.result(1));
}

} // namespace imbrex::testing
