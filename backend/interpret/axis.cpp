#include "backend/interpret/block_run.h"
#include "backend/interpret/lines.h"
#include "backend/interpret/scalar.h"
#include "backend/ir/combine.h"
#include "backend/support/check.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <algorithm>
#include <limits>

// Reductions and scans. One line along the axis at a time is taken out, folded and put back, so
// that a fold is written once for all shapes, and for one operand as for several.
namespace imbrex::interpret {
namespace {

using ir::Combine;
using ir::ElementKind;
using ir::OpKind;

/// One element of each operand: what a combine takes twice and gives once.
using Items = llvm::SmallVector<std::uint64_t, 4>;

/// `a` is the accumulated, or the left one, `b` the next. None: an error was reported.
using Combiner = llvm::function_ref<std::optional<Items>(const Items &a, const Items &b)>;

bool isNan(std::uint64_t bits, ElementKind element) {
  const double value = ir::isFloat(element) ? toDouble(bits, element) : 0;
  return value != value;
}

/// The better value with its index. `a` has the lower index, so that of equals, and of two NaNs, it
/// stays; a number beats a NaN.
Items betterOf(Combine combine, ElementKind element, const Items &a, const Items &b) {
  if (isNan(a[0], element) && isNan(b[0], element)) return a;
  return evaluate(opOf(combine), element, {a[0], b[0]}) == a[0] ? a : b;
}

Items identity(Combine combine, ElementKind element) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::int32_t unused = 64 - ir::info(element).bits;
  const std::uint64_t ones = ~std::uint64_t{0} << unused >> unused;
  const std::uint64_t lowest = ir::isSigned(element) ? ones ^ ones >> 1 : 0;
  const std::uint64_t highest = ir::isSigned(element) ? ones >> 1 : ones;
  switch (combine) {
  case Combine::Sum:
  case Combine::Or:
  case Combine::Xor: return {0};
  case Combine::Prod: return {convert(1, ElementKind::Bool, element)};
  case Combine::And: return {ones};
  case Combine::Min:
  case Combine::MinNan: return {ir::isFloat(element) ? fromDouble(infinity, element) : highest};
  case Combine::Max:
  case Combine::MaxNan: return {ir::isFloat(element) ? fromDouble(-infinity, element) : lowest};
  case Combine::ArgMin:
  case Combine::ArgMax:
  case Combine::Region: break;
  }
  IMBREX_UNREACHABLE("this combine has no identity");
}

/// The region's yield for a left and a right element of each operand.
std::optional<Items> runRegion(BlockRun &run, const ir::Op &op, const Items &a, const Items &b) {
  const ir::Block &region = op.regions[0];
  for (size_t i = 0; i < a.size(); ++i) {
    run.set(region.arguments[i], Value{{}, {a[i]}, {}});
    run.set(region.arguments[a.size() + i], Value{{}, {b[i]}, {}});
  }
  if (run.execute(region) != Flow::Next) return std::nullopt;
  Items result;
  for (const Value &value : run.handedOver) result.push_back(value.at(0));
  return result;
}

/// The tree that `deterministic` fixes: neighbours pair up, level by level, an odd last one passes.
std::optional<Items> foldTree(std::vector<Items> items, Combiner combine) {
  while (items.size() > 1) {
    std::vector<Items> level;
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      const auto pair = combine(items[i], items[i + 1]);
      if (!pair) return std::nullopt;
      level.push_back(*pair);
    }
    if (items.size() % 2 == 1) level.push_back(items.back());
    items = std::move(level);
  }
  return items.front();
}

/// The running fold from the left.
std::optional<std::vector<Items>> foldRunning(const std::vector<Items> &items, Combiner combine) {
  std::vector<Items> results{items.front()};
  for (size_t i = 1; i < items.size(); ++i) {
    const auto next = combine(results.back(), items[i]);
    if (!next) return std::nullopt;
    results.push_back(*next);
  }
  return results;
}

std::vector<Items> lineOf(BlockRun &run, const Lines &lines, std::int64_t line,
                          llvm::ArrayRef<ir::ValueId> operands) {
  std::vector<Items> items(static_cast<size_t>(lines.length()));
  for (size_t along = 0; along < items.size(); ++along)
    for (const ir::ValueId operand : operands)
      items[along].push_back(
          run.value(operand).at(lines.position(line, static_cast<std::int64_t>(along))));
  return items;
}

template <class Attrs>
std::optional<Items> combineItems(BlockRun &run, const ir::Op &op, const Items &a, const Items &b) {
  const Combine combine = op.attrs<Attrs>().combine;
  if (combine == Combine::Region) return runRegion(run, op, a, b);
  const ElementKind element = run.type(op.operand(0)).element();
  if (isArg(combine)) return betterOf(combine, element, a, b);
  return Items{evaluate(opOf(combine), element, {a[0], b[0]})};
}

/// Exclusive: what stands before each element. A region starts from the op's own first values; a
/// built-in combine from its identity, which is not combined with what follows (-0 stays -0).
std::optional<std::vector<Items>> foldLine(BlockRun &run, const ir::Op &op,
                                           std::vector<Items> items) {
  const auto &attrs = op.attrs<ir::ScanAttrs>();
  const auto combine = [&](const Items &a, const Items &b) {
    return combineItems<ir::ScanAttrs>(run, op, a, b);
  };
  if (!attrs.exclusive) return foldRunning(items, combine);
  if (attrs.combine != Combine::Region) {
    auto results = foldRunning(items, combine);
    results->insert(results->begin(), identity(attrs.combine, run.type(op.operand(0)).element()));
    results->pop_back();
    return results;
  }
  Items first;
  for (const ir::ValueId initial : llvm::ArrayRef(op.operands).drop_front(op.results.size()))
    first.push_back(run.value(initial).at(0));
  items.insert(items.begin(), first);
  items.pop_back();
  return foldRunning(items, combine);
}

} // namespace

Flow runReduce(BlockRun &run, const ir::Op &op) {
  const auto &attrs = op.attrs<ir::ReduceAttrs>();
  const Lines lines(run.type(op.operand(0)).shape(), attrs.axis);
  llvm::SmallVector<Value, 2> results;
  for (const ir::ValueId result : op.results) results.push_back({run.type(result).shape(), {}, {}});
  for (std::int64_t line = 0; line < lines.count(); ++line) {
    std::vector<Items> items = lineOf(run, lines, line, op.operands);
    if (isArg(attrs.combine))
      for (size_t i = 0; i < items.size(); ++i) items[i].push_back(i);
    const auto folded = foldTree(std::move(items), [&](const Items &a, const Items &b) {
      return combineItems<ir::ReduceAttrs>(run, op, a, b);
    });
    if (!folded) return Flow::Failed;
    for (size_t i = 0; i < results.size(); ++i) results[i].bits.push_back((*folded)[i]);
  }
  for (size_t i = 0; i < results.size(); ++i) run.set(op.result(i), std::move(results[i]));
  return Flow::Next;
}

Flow runScan(BlockRun &run, const ir::Op &op) {
  const auto &attrs = op.attrs<ir::ScanAttrs>();
  const auto operands = llvm::ArrayRef(op.operands).take_front(op.results.size());
  const Lines lines(run.type(op.operand(0)).shape(), attrs.axis);
  auto results = run.take(operands);
  for (std::int64_t line = 0; line < lines.count(); ++line) {
    std::vector<Items> items = lineOf(run, lines, line, operands);
    if (attrs.reverse) std::reverse(items.begin(), items.end());
    auto running = foldLine(run, op, std::move(items));
    if (!running) return Flow::Failed;
    if (attrs.reverse) std::reverse(running->begin(), running->end());
    for (size_t along = 0; along < running->size(); ++along) {
      const std::int64_t position = lines.position(line, static_cast<std::int64_t>(along));
      for (size_t i = 0; i < results.size(); ++i)
        results[i].bits[static_cast<size_t>(position)] = (*running)[along][i];
    }
  }
  for (size_t i = 0; i < results.size(); ++i) run.set(op.result(i), std::move(results[i]));
  return Flow::Next;
}

} // namespace imbrex::interpret
