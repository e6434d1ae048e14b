#include "backend/ir/constant_text.h"
#include "backend/support/check.h"
#include "tests/support/random_generator.h"

#include <algorithm>

namespace imbrex::testing {

using namespace ir;

std::int64_t Generator::number(std::int64_t low, std::int64_t high) {
  // Not std::uniform_int_distribution, whose numbers differ between standard libraries.
  const auto choices = static_cast<std::uint64_t>(high - low) + 1;
  const std::uint64_t roll = (std::uint64_t{rng_()} << 32) | rng_();
  return low + static_cast<std::int64_t>(roll % choices);
}

ElementKind Generator::element(Domain domain) {
  for (;;) {
    const ElementKind kind = oneOf(allElementKinds());
    const bool isNarrow = isNarrowFloat(kind);
    switch (domain) {
    case Domain::Any: return kind;
    case Domain::Plain:
      if (!isNarrow) return kind;
      break;
    case Domain::Number:
      if (isInteger(kind) || isFloat(kind)) return kind;
      break;
    case Domain::Floating:
      if (isFloat(kind)) return kind;
      break;
    case Domain::Integer:
      if (isInteger(kind)) return kind;
      break;
    case Domain::Bits:
      if (isInteger(kind) || kind == ElementKind::Bool) return kind;
      break;
    }
  }
}

std::int64_t Generator::extent() {
  return one<std::int64_t>({1, 2, 3, 4, 5, 7, 8, 16, 33, 48, 100});
}

Shape Generator::shape(std::int32_t leastRank, std::int32_t mostRank) {
  constexpr std::int64_t kMostElements = 400;
  for (;;) {
    Shape result;
    const auto rank = static_cast<std::int32_t>(number(leastRank, mostRank));
    while (result.rank() < rank) result = result.withAppended(extent());
    if (result.elements() <= kMostElements) return result;
  }
}

Type Generator::anyType(ir::Domain domain, std::int32_t leastRank, std::int32_t mostRank) {
  const Shape drawn = shape(leastRank, mostRank);
  return Type::tile(element(domain), drawn);
}

/// Mostly numbers that stay small under arithmetic, sometimes the corners of the type.
std::uint64_t Generator::bits(ElementKind kind) {
  const std::int32_t width = info(kind).bits;
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - width);
  const std::uint64_t any = (std::uint64_t{rng_()} << 32) | rng_();
  if (chance(15)) return any & mask;
  if (chance(15)) // lowest, highest, all ones, one; -0, a NaN, the least subnormal of floats
    return one<std::uint64_t>({mask, mask >> 1, (mask >> 1) + 1, 1, 0}) & mask;
  const std::int64_t small = number(-4, 9);
  if (isInteger(kind) || kind == ElementKind::Bool) return static_cast<std::uint64_t>(small) & mask;
  const auto text = std::to_string(static_cast<double>(small) / 2);
  return constantFromText(Type::tile(kind), text).value_or(any & mask);
}

ValueId Generator::keep(ValueId value) {
  pool_.push_back(value);
  return value;
}

Op &Generator::emit(OpKind kind, llvm::ArrayRef<ValueId> operands, llvm::ArrayRef<Type> results,
                    Attributes attributes) {
  return builder().create(kind, operands, results, std::move(attributes));
}

Op &Generator::emit(OpKind kind, llvm::ArrayRef<ValueId> operands, llvm::ArrayRef<Type> results) {
  return builder().create(kind, operands, results);
}

ValueId Generator::value(OpKind kind, llvm::ArrayRef<ValueId> operands, const Type &result) {
  return emit(kind, operands, result).result();
}

std::optional<ValueId> Generator::find(const Filter &filter) {
  std::vector<ValueId> found;
  std::ranges::copy_if(pool_, std::back_inserter(found),
                       [&](ValueId value) { return filter(type(value)); });
  if (found.empty()) return std::nullopt;
  // The newest more often, so that programs become deep and not only wide.
  const auto newest = std::min<std::int64_t>(std::ssize(found), chance(60) ? 3 : 1000);
  return found[found.size() - static_cast<std::size_t>(number(1, newest))];
}

ValueId Generator::of(const Type &wanted) {
  if (chance(75))
    if (const auto old = find([&](const Type &type) { return type == wanted; })) return *old;
  return fresh(wanted);
}

ValueId Generator::fresh(const Type &wanted) {
  IMBREX_CHECK(wanted.isTile(), "only tiles of elements come from nothing");
  const std::int64_t choice = number(0, 9);
  if (choice < 3 && wanted.rank() > 0)
    return keep(value(OpKind::Broadcast, of(wanted.withShape({})), wanted));
  if (choice < 6) return keep(iota(wanted));
  if (choice < 8 && wanted.element() != ElementKind::F4E2M1) {
    const ValueId pointers = pointersInto(input(wanted.element()), wanted.shape());
    return keep(emit(OpKind::Load, pointers, wanted, memoryAttrs()).result());
  }
  return keep(builder().constantBits(wanted, bits(wanted.element())));
}

ValueId Generator::tile(Domain domain, std::int32_t leastRank, std::int32_t mostRank) {
  const auto isRight = [&](const Type &type) {
    if (!type.isTile() || type.rank() < leastRank || type.rank() > mostRank) return false;
    const ElementKind kind = type.element();
    switch (domain) {
    case Domain::Any: return true;
    case Domain::Plain: return !isNarrowFloat(kind);
    case Domain::Number: return isInteger(kind) || isFloat(kind);
    case Domain::Floating: return isFloat(kind);
    case Domain::Integer: return isInteger(kind);
    case Domain::Bits: return isInteger(kind) || kind == ElementKind::Bool;
    }
    return false;
  };
  if (chance(70))
    if (const auto old = find(isRight)) return *old;
  return fresh(anyType(domain, leastRank, mostRank));
}

ValueId Generator::integer(ElementKind kind, std::int64_t value) {
  return builder().integer(Type::tile(kind), value);
}

/// 0, 1, 2, … in row-major order plus something of the block's own, as any element.
ValueId Generator::iota(const Type &wanted) {
  const Type counts = Type::tile(ElementKind::I32, Shape{wanted.shape().elements()});
  const ArangeAttrs attrs{.start = number(-5, 5), .step = number(-2, 3)};
  ValueId all = emit(OpKind::Arange, {}, counts, attrs).result();
  if (chance(50)) {
    const ValueId own = builder().broadcast(blockNumber(), counts.shape());
    all = value(OpKind::Add, {all, own}, counts);
  }
  return builder().cast(builder().reshape(all, wanted.shape()), wanted.element());
}

ValueId Generator::smallNumbers(const Type &wanted) {
  const Type counts = Type::tile(ElementKind::I32, Shape{wanted.shape().elements()});
  const ArangeAttrs attrs{.start = number(0, 9), .step = one<std::int64_t>({1, 3, 5})};
  ValueId all = emit(OpKind::Arange, {}, counts, attrs).result();
  const ValueId own = builder().broadcast(blockNumber(), counts.shape());
  all = value(OpKind::Add, {all, own}, counts);
  all = value(OpKind::And, {all, builder().integer(counts, 3)}, counts);
  return builder().cast(builder().reshape(all, wanted.shape()), wanted.element());
}

/// Integers from 0 to below the bound, of data where there is some.
ValueId Generator::indexBelow(std::int64_t bound, const Shape &shape) {
  const Type wide = Type::tile(ElementKind::U32, shape);
  ValueId index = of(Type::tile(element(Domain::Integer), shape));
  index = builder().cast(index, ElementKind::U32);
  index = value(OpKind::Rem, {index, builder().integer(wide, bound)}, wide);
  return builder().cast(index, one({ElementKind::I32, ElementKind::I64, ElementKind::U32}));
}

ValueId Generator::condition() { return of(Type::tile(ElementKind::Bool)); }

/// Arithmetic makes "a NaN", whose bits executors may choose; here they become the one NaN.
ValueId Generator::withCanonicalNans(ValueId value) {
  const Type &floats = type(value);
  if (!options_.exact || !isFloat(floats.element())) return value;
  const Type bools = floats.withElement(ElementKind::Bool);
  const ValueId isNan = this->value(OpKind::Ne, {value, value}, bools);
  const ValueId nan = builder().constantBits(floats, *canonicalNan(floats.element()));
  return this->value(OpKind::Select, {isNan, nan, value}, type(value));
}

void Generator::emitConstant() { fresh(anyType(Domain::Any)); }

void Generator::emitArange() {
  const Type all = anyType(Domain::Integer, 1, 1);
  const bool isSmall = info(all.element()).bits == 8;
  ArangeAttrs attrs{.start = number(0, 20), .step = number(0, isSmall ? 1 : 9)};
  if (isSigned(all.element()) && chance(50)) attrs = {.start = -attrs.start, .step = -attrs.step};
  keep(emit(OpKind::Arange, {}, all, attrs).result());
}

void Generator::emitElementwise(OpKind kind) {
  if (kind == OpKind::Select) return emitSelect();
  const OpInfo &row = info(kind);
  std::vector<ValueId> operands{tile(row.domain)};
  const Type common = type(operands[0]);
  while (std::ssize(operands) < row.fewestOperands) operands.push_back(of(common));
  Attributes attributes = defaultAttributes(kind);
  if (auto *math = std::get_if<MathAttrs>(&attributes); math && !options_.exact)
    math->accuracy = any<Accuracy>();
  const bool isComparison = row.typeRule == TypeRule::Comparison;
  const Type result = isComparison ? common.withElement(ElementKind::Bool) : common;
  keep(emit(kind, operands, result, attributes).result());
}

void Generator::emitSelect() {
  const ValueId first = tile(Domain::Any);
  const Type common = type(first);
  const ValueId mask = of(common.withElement(ElementKind::Bool));
  keep(value(OpKind::Select, {mask, first, of(common)}, common));
}

void Generator::emitCast() {
  const ValueId from = tile(Domain::Any);
  const ElementKind to = element(Domain::Any), kind = type(from).element();
  const bool areFloats =
      (isFloat(kind) || isNarrowFloat(kind)) && (isFloat(to) || isNarrowFloat(to));
  const CastAttrs attrs{areFloats ? any<Rounding>() : Rounding::NearestEven};
  keep(emit(OpKind::Cast, from, type(from).withElement(to), attrs).result());
}

void Generator::emitBitcast() {
  const auto isLegal = [](const Type &type) {
    return type.isTile() && type.element() != ElementKind::Bool;
  };
  const auto found = find(isLegal);
  const ValueId from = withCanonicalNans(found ? *found : fresh(anyType(Domain::Number)));
  const Type given = type(from);
  const std::int32_t last = given.rank() - 1;
  if (given.element() == ElementKind::U8 && last >= 0 && chance(60)) {
    const Shape wide = given.shape().withAxis(last, given.shape()[last] * 2);
    keep(value(OpKind::Bitcast, from, Type::tile(ElementKind::F4E2M1, wide)));
  } else if (given.element() == ElementKind::F4E2M1 && last >= 0 && given.shape()[last] % 2 == 0) {
    const Shape half = given.shape().withAxis(last, given.shape()[last] / 2);
    keep(value(OpKind::Bitcast, from, Type::tile(ElementKind::U8, half)));
  } else {
    ElementKind to = element(Domain::Any);
    while (to == ElementKind::Bool || info(to).bits != info(given.element()).bits)
      to = element(Domain::Any);
    keep(value(OpKind::Bitcast, from, given.withElement(to)));
  }
}

} // namespace imbrex::testing
