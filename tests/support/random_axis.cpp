#include "tests/support/random_generator.h"

#include <algorithm>

namespace imbrex::testing {

using namespace ir;

namespace {

bool isFloatSum(ElementKind kind, Combine combine) {
  return isFloat(kind) && (combine == Combine::Sum || combine == Combine::Prod);
}

Domain domainOf(Combine combine) {
  switch (combine) {
  case Combine::MinNan:
  case Combine::MaxNan: return Domain::Floating;
  case Combine::And:
  case Combine::Or:
  case Combine::Xor: return Domain::Bits;
  case Combine::Sum:
  case Combine::Prod:
  case Combine::Min:
  case Combine::Max:
  case Combine::ArgMin:
  case Combine::ArgMax:
  case Combine::Region: return Domain::Number;
  }
  return Domain::Number;
}

} // namespace

/// An associative combine, so that a scan may take any order, but not always a commutative one. The
/// elements that it combines at once.
std::vector<ElementKind> Generator::fillCombine(Block &block) {
  const ElementKind kind = element(Domain::Integer);
  const Type scalar = Type::tile(kind), boolean = Type::tile(ElementKind::Bool);
  const auto captured = find([&](const Type &type) { return type == scalar; });
  const std::int64_t recipe = number(0, 3);
  const std::size_t count = recipe < 2 ? 1 : 2;
  Block *const outer = std::exchange(block_, &block);
  for (std::size_t i = 0; i < 2 * count; ++i) block.arguments.push_back(kernel_.newValue(scalar));
  const auto &args = block.arguments;
  if (recipe == 0) {
    const OpKind kinds = one({OpKind::Add, OpKind::Mul, OpKind::Min, OpKind::Max, OpKind::Xor});
    emit(OpKind::Yield, value(kinds, {args[0], args[1]}, scalar), {});
  } else if (recipe == 1) { // a + b + c with a c from outside
    ValueId sum = value(OpKind::Add, {args[0], args[1]}, scalar);
    if (captured) sum = value(OpKind::Add, {sum, *captured}, scalar);
    emit(OpKind::Yield, sum, {});
  } else if (recipe == 2) { // one step of a linear recurrence after another: not commutative
    const ValueId factor = value(OpKind::Mul, {args[0], args[2]}, scalar);
    const ValueId moved = value(OpKind::Mul, {args[1], args[2]}, scalar);
    emit(OpKind::Yield, {factor, value(OpKind::Add, {moved, args[3]}, scalar)}, {});
  } else { // the larger pair in lexicographic order
    const ValueId first = value(OpKind::Gt, {args[0], args[2]}, boolean);
    const ValueId same = value(OpKind::Eq, {args[0], args[2]}, boolean);
    const ValueId second = value(OpKind::Ge, {args[1], args[3]}, boolean);
    const ValueId both = value(OpKind::And, {same, second}, boolean);
    const ValueId left = value(OpKind::Or, {first, both}, boolean);
    emit(OpKind::Yield,
         {value(OpKind::Select, {left, args[0], args[2]}, scalar),
          value(OpKind::Select, {left, args[1], args[3]}, scalar)},
         {});
  }
  block_ = outer;
  return std::vector<ElementKind>(count, kind);
}

void Generator::emitRegionReduce() {
  Block combine;
  const auto kinds = fillCombine(combine);
  const Shape given = shape(1);
  const auto axis = static_cast<std::int32_t>(number(0, given.rank() - 1));
  std::vector<ValueId> operands;
  std::vector<Type> results;
  for (const ElementKind kind : kinds) {
    operands.push_back(of(Type::tile(kind, given)));
    results.push_back(Type::tile(kind, given.withoutAxis(axis)));
  }
  ReduceAttrs attrs{.combine = Combine::Region, .axis = axis, .deterministic = chance(50)};
  Op &op = emit(OpKind::Reduce, operands, results, attrs);
  op.regions.push_back(std::move(combine));
  for (const ValueId result : op.results) keep(result);
}

void Generator::emitReduce() {
  ReduceAttrs attrs{.combine = any<Combine>(), .axis = 0, .deterministic = chance(50)};
  if (attrs.combine == Combine::Region) return emitRegionReduce();
  const ValueId from = tile(domainOf(attrs.combine), 1);
  const Type given = type(from);
  attrs.axis = static_cast<std::int32_t>(number(0, given.rank() - 1));
  if (options_.exact && isFloatSum(given.element(), attrs.combine)) attrs.deterministic = true;
  std::vector<Type> results{given.withShape(given.shape().withoutAxis(attrs.axis))};
  if (attrs.combine == Combine::ArgMin || attrs.combine == Combine::ArgMax)
    results.push_back(results[0].withElement(ElementKind::I32));
  for (const ValueId result : emit(OpKind::Reduce, from, results, attrs).results) keep(result);
}

void Generator::emitRegionScan() {
  Block combine;
  const auto kinds = fillCombine(combine);
  const Shape given = shape(1);
  const ScanAttrs attrs{.combine = Combine::Region,
                        .axis = static_cast<std::int32_t>(number(0, given.rank() - 1)),
                        .reverse = chance(50),
                        .exclusive = chance(50)};
  std::vector<ValueId> operands;
  std::vector<Type> results;
  for (const ElementKind kind : kinds) {
    results.push_back(Type::tile(kind, given));
    operands.push_back(of(results.back()));
  }
  if (attrs.exclusive)
    for (const ElementKind kind : kinds) operands.push_back(of(Type::tile(kind)));
  Op &op = emit(OpKind::Scan, operands, results, attrs);
  op.regions.push_back(std::move(combine));
  for (const ValueId result : op.results) keep(result);
}

void Generator::emitScan() {
  ScanAttrs attrs{
      .combine = any<Combine>(), .axis = 0, .reverse = chance(50), .exclusive = chance(50)};
  if (attrs.combine == Combine::Region) return emitRegionScan();
  if (attrs.combine == Combine::ArgMin || attrs.combine == Combine::ArgMax) return emitScan();
  const ValueId from = tile(domainOf(attrs.combine), 1);
  if (options_.exact && isFloatSum(type(from).element(), attrs.combine)) return emitScan();
  attrs.axis = static_cast<std::int32_t>(number(0, type(from).rank() - 1));
  keep(emit(OpKind::Scan, from, type(from), attrs).result());
}

void Generator::emitSort() {
  std::vector<ValueId> operands{tile(Domain::Plain, 1)};
  const Type keys = type(operands[0]);
  std::vector<Type> results{keys};
  while (chance(40)) {
    results.push_back(keys.withElement(element(Domain::Any)));
    operands.push_back(of(results.back()));
  }
  const SortAttrs attrs{.axis = static_cast<std::int32_t>(number(0, keys.rank() - 1)),
                        .descending = chance(50)};
  for (const ValueId result : emit(OpKind::Sort, operands, results, attrs).results) keep(result);
}

void Generator::emitHistogram() {
  const std::int64_t bins = extent();
  const Shape given = shape(1, 1);
  const ValueId values = chance(70) ? indexBelow(bins + 2, given) : tile(Domain::Integer, 1, 1);
  llvm::SmallVector<ValueId, 2> operands{values};
  if (chance(40)) operands.push_back(of(type(values).withElement(ElementKind::Bool)));
  keep(value(OpKind::Histogram, operands, Type::tile(ElementKind::I32, Shape{bins})));
}

void Generator::emitGather() {
  const ValueId from = tile(Domain::Any, 1);
  const Type given = type(from);
  const auto axis = static_cast<std::int32_t>(number(0, given.rank() - 1));
  const Shape wanted = given.shape().withAxis(axis, number(1, 6));
  const ValueId indices = chance(70) ? indexBelow(given.shape()[axis] + 1, wanted)
                                     : of(Type::tile(element(Domain::Integer), wanted));
  keep(emit(OpKind::Gather, {from, indices}, given.withShape(wanted), AxisAttrs{axis}).result());
}

/// The axes in front of a product's own two. Not many batches: a thread must have the registers.
Shape Generator::batch() {
  constexpr std::int64_t kMostBatches = 6;
  Shape result;
  if (chance(60)) return result;
  for (std::int64_t rank = number(1, Shape::kMaxRank - 2); rank > 0; --rank)
    result =
        result.withAppended(number(1, std::min<std::int64_t>(3, kMostBatches / result.elements())));
  return result;
}

void Generator::emitDot() {
  const ElementKind a =
      one({ElementKind::I8, ElementKind::U8, ElementKind::F16, ElementKind::BF16, ElementKind::F32,
           ElementKind::F64, ElementKind::F8E4M3FN, ElementKind::F8E5M2, ElementKind::F8E4M3FNUZ,
           ElementKind::F8E5M2FNUZ});
  const ElementKind b = isNarrowFloat(a) ? one({a, ElementKind::F8E4M3FN, ElementKind::F8E5M2}) : a;
  const ElementKind sum = isInteger(a)            ? ElementKind::I32
                          : a == ElementKind::F64 ? ElementKind::F64
                                                  : ElementKind::F32;
  const std::int64_t m = one<std::int64_t>({1, 3, 8, 17}), n = one<std::int64_t>({1, 4, 7, 16});
  const std::int64_t k = one<std::int64_t>({1, 2, 5, 16, 33});
  const Shape batches = batch();
  const auto matrix = [&](ElementKind kind, std::int64_t rows, std::int64_t columns) {
    return Type::tile(kind, batches.withAppended(rows).withAppended(columns));
  };
  const auto operand = [&](const Type &type) {
    return options_.exact && !isInteger(type.element()) ? smallNumbers(type) : of(type);
  };
  DotAttrs attrs;
  if (a == ElementKind::F32) attrs.precision = any<Precision>();
  if (isNarrowFloat(a)) attrs.promoteEvery = one({0, 32, 64});
  const ValueId left = operand(matrix(a, m, k)), right = operand(matrix(b, k, n));
  const Type result = matrix(sum, m, n);
  keep(emit(OpKind::Dot, {left, right, operand(result)}, result, attrs).result());
}

void Generator::emitDotScaled() {
  const auto kind = [&] {
    return one({ElementKind::F4E2M1, ElementKind::F8E4M3FN, ElementKind::F8E5M2, ElementKind::F16,
                ElementKind::BF16});
  };
  const std::int64_t m = number(1, 5), n = number(1, 5), k = one<std::int64_t>({32, 64});
  // 2^0 and 2^1, so that sums stay exact.
  const auto scales = [&](const Shape &shape) {
    const Type bytes = Type::tile(ElementKind::U8, shape);
    const ValueId low = value(OpKind::And, {iota(bytes), builder().integer(bytes, 1)}, bytes);
    const ValueId biased = value(OpKind::Add, {low, builder().integer(bytes, 127)}, bytes);
    return builder().bitcast(biased, ElementKind::E8M0);
  };
  DotScaledAttrs attrs;
  attrs.scaleA = chance(70);
  attrs.scaleB = chance(70);
  const Shape batches = batch();
  const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
    return batches.withAppended(rows).withAppended(columns);
  };
  const Type result = Type::tile(ElementKind::F32, matrix(m, n));
  std::vector<ValueId> operands{smallNumbers(Type::tile(kind(), matrix(m, k))),
                                smallNumbers(Type::tile(kind(), matrix(k, n))),
                                smallNumbers(result)};
  if (attrs.scaleA) operands.push_back(scales(matrix(m, k / 32)));
  if (attrs.scaleB) operands.push_back(scales(matrix(n, k / 32)));
  keep(emit(OpKind::DotScaled, operands, result, attrs).result());
}

void Generator::emitPhilox() {
  const Type words = Type::tile(ElementKind::U32, shape());
  std::vector<ValueId> operands{of(Type::tile(ElementKind::U64))};
  do operands.push_back(of(words));
  while (operands.size() < 5 && chance(50));
  const std::vector<Type> results(4, words);
  for (const ValueId result : emit(OpKind::Philox, operands, results).results) keep(result);
}

} // namespace imbrex::testing
