#include "backend/passes/pipeline/read_condition.h"

#include "backend/passes/rewriting.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>

namespace imbrex::passes::pipeline {

using namespace ir;
using schedule::Guard;

const Op *whatLeaves(const Block &body, bool isOfLoop) {
  for (const auto &op : body.ops) {
    if (op->kind == OpKind::ExitIf || (isOfLoop && op->kind == OpKind::BreakIf)) return op.get();
    for (const Block &region : op->regions)
      if (const Op *inner = whatLeaves(region, isOfLoop && !isLoop(*op))) return inner;
  }
  return nullptr;
}

bool mayLeave(const Op &op) {
  return op.kind == OpKind::BreakIf || op.kind == OpKind::ExitIf ||
         llvm::any_of(op.regions,
                      [&](const Block &body) { return whatLeaves(body, !isLoop(op)) != nullptr; });
}

bool mayBeLeft(const Op &loop) { return whatLeaves(loop.regions[0]) != nullptr; }

namespace {

const Op *madeBy(const Kernel &kernel, ValueId value, OpKind kind) {
  const Op *op = kernel.definition(value);
  return op && op->kind == kind ? op : nullptr;
}

bool isDistance(const Kernel &kernel, ValueId value, ValueId high, ValueId low) {
  if (const Op *bits = madeBy(kernel, value, OpKind::Bitcast)) value = bits->operand(0);
  const Op *difference = madeBy(kernel, value, OpKind::Sub);
  return difference && difference->operand(0) == high && difference->operand(1) == low;
}

/// From the index to the end: the trips that are left; from the beginning, or 0 where the end lies
/// before it: all.
std::optional<Guard::Measure> readDistance(const Kernel &kernel, ValueId value, const Op &loop) {
  const ValueId low = loop.operand(0), high = loop.operand(1);
  if (isDistance(kernel, value, high, loop.regions[0].arguments[0])) return Guard::Measure::Left;
  const Op *select = madeBy(kernel, value, OpKind::Select);
  if (!select || constantBits(kernel, select->operand(2)) != std::uint64_t{0}) return {};
  const Op *runs = madeBy(kernel, select->operand(0), OpKind::Lt);
  const bool isAll = runs && runs->operand(0) == low && runs->operand(1) == high &&
                     isDistance(kernel, select->operand(1), high, low);
  return isAll ? std::optional(Guard::Measure::Count) : std::nullopt;
}

} // namespace

std::optional<Guard> readCondition(const Kernel &kernel, ValueId condition,
                                   llvm::ArrayRef<CountedLoop> loops) {
  const Op *greater = madeBy(kernel, condition, OpKind::Gt);
  if (!greater || isSigned(kernel.type(greater->operand(0)).element())) return std::nullopt;
  const auto bound = constantInteger(kernel, greater->operand(1));
  if (!bound || *bound < 0) return std::nullopt;
  for (const bool isOver : {false, true})
    for (const CountedLoop &loop : llvm::reverse(loops)) {
      if (loop.isOver != isOver) continue;
      const auto step = constantInteger(kernel, loop.op->operand(2));
      if (!step || *step <= 0 || *bound % *step != 0 || mayBeLeft(*loop.op)) continue;
      const std::int64_t trips = *bound / *step;
      if (trips > std::numeric_limits<std::int32_t>::max()) continue;
      const auto measure = readDistance(kernel, greater->operand(0), *loop.op);
      if (measure) return Guard{*measure, loop.trips, static_cast<std::int32_t>(trips)};
    }
  return std::nullopt;
}

} // namespace imbrex::passes::pipeline
