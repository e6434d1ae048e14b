#include "backend/interpret/block_run.h"
#include "backend/interpret/lines.h"
#include "backend/interpret/scalar.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace imbrex::interpret {
namespace {

using ir::ElementKind;

/// The total order of an element: comes before, in either direction. NaNs are equal and last.
class TotalOrder {
public:
  TotalOrder(ElementKind element, bool descending) : element_(element), descending_(descending) {}

  bool operator()(std::uint64_t a, std::uint64_t b) const {
    if (!ir::isFloat(element_) && !ir::isNarrowFloat(element_)) {
      if (descending_) std::swap(a, b);
      return ir::isSigned(element_) ? extended(a, element_) < extended(b, element_) : a < b;
    }
    double x = toDouble(a, element_), y = toDouble(b, element_);
    if (std::isnan(x) || std::isnan(y)) return !std::isnan(x);
    if (descending_) std::swap(x, y);
    return x < y || (x == y && std::signbit(x) && !std::signbit(y));
  }

private:
  ElementKind element_;
  bool descending_;
};

} // namespace

Flow runSort(BlockRun &run, const ir::Op &op) {
  const auto &attrs = op.attrs<ir::SortAttrs>();
  const Value &keys = run.operand(op, 0);
  const Lines lines(keys.shape, attrs.axis);
  const TotalOrder before(run.type(op.operand(0)).element(), attrs.descending);
  auto results = run.take(op.operands);
  for (std::int64_t line = 0; line < lines.count(); ++line) {
    std::vector<std::int64_t> order(static_cast<size_t>(lines.length()));
    std::iota(order.begin(), order.end(), 0);
    // Stable: of equal keys the one that came first comes first.
    std::ranges::sort(order, [&](std::int64_t a, std::int64_t b) {
      const std::uint64_t x = keys.at(lines.position(line, a));
      const std::uint64_t y = keys.at(lines.position(line, b));
      return before(x, y) || (!before(y, x) && a < b);
    });
    for (size_t to = 0; to < order.size(); ++to) {
      const auto target = static_cast<size_t>(lines.position(line, static_cast<std::int64_t>(to)));
      for (size_t i = 0; i < results.size(); ++i)
        results[i].bits[target] = run.operand(op, i).at(lines.position(line, order[to]));
    }
  }
  for (size_t i = 0; i < results.size(); ++i) run.set(op.result(i), std::move(results[i]));
  return Flow::Next;
}

Flow runHistogram(BlockRun &run, const ir::Op &op) {
  const ElementKind element = run.type(op.operand(0)).element();
  const Value &values = run.operand(op, 0);
  const auto bins = static_cast<size_t>(run.type(op.result()).shape()[0]);
  Value counts{run.type(op.result()).shape(), std::vector<std::uint64_t>(bins), {}};
  for (std::int64_t i = 0; i < values.shape.elements(); ++i) {
    // A negative number, read without its sign, is beyond every bin.
    const auto bin = static_cast<std::uint64_t>(extended(values.at(i), element));
    const bool isOn = op.operands.size() < 2 || run.operand(op, 1).at(i) != 0;
    if (isOn && bin < bins) ++counts.bits[bin];
  }
  return run.set(op.result(), std::move(counts));
}

Flow runGather(BlockRun &run, const ir::Op &op) {
  const std::int32_t axis = op.attrs<ir::AxisAttrs>().axis;
  const Value &source = run.operand(op, 0), &indices = run.operand(op, 1);
  const ElementKind element = run.type(op.operand(1)).element();
  Value result{indices.shape, {}, {}};
  for (std::int64_t i = 0; i < indices.shape.elements(); ++i) {
    Index index = indexAt(indices.shape, i);
    const auto along = static_cast<std::uint64_t>(extended(indices.at(i), element));
    const bool isInside = along < static_cast<std::uint64_t>(source.shape[axis]);
    index[static_cast<size_t>(axis)] = static_cast<std::int64_t>(along);
    result.bits.push_back(isInside ? source.at(positionOf(source.shape, index)) : 0);
  }
  return run.set(op.result(), std::move(result));
}

} // namespace imbrex::interpret
