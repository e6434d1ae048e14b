#include "backend/interpret/block_run.h"
#include "backend/interpret/scalar.h"

namespace imbrex::interpret {
namespace {

void setAll(BlockRun &run, llvm::ArrayRef<ir::ValueId> targets, llvm::ArrayRef<Value> values) {
  for (size_t i = 0; i < targets.size(); ++i) run.set(targets[i], values[i]);
}

/// The index type's numbers, as bits.
struct LoopRange {
  std::uint64_t low, high, step;
  bool isSigned;

  /// How often the body runs. A distance between two numbers of 64 bits fits in 64 bits without a
  /// sign, so nothing overflows; the index of the last trip is before `high` and cannot wrap.
  std::uint64_t trips() const {
    const bool goesDown = isSigned && static_cast<std::int64_t>(step) < 0;
    const std::uint64_t from = goesDown ? high : low, to = goesDown ? low : high;
    const std::uint64_t stride = goesDown ? 0 - step : step;
    const bool isEmpty =
        isSigned ? static_cast<std::int64_t>(from) >= static_cast<std::int64_t>(to) : from >= to;
    return isEmpty || step == 0 ? 0 : (to - from - 1) / stride + 1;
  }
};

} // namespace

Flow runFor(BlockRun &run, const ir::Op &op) {
  const ir::Type &index = run.type(op.operand(0));
  const auto bound = [&](size_t i) {
    return static_cast<std::uint64_t>(extended(run.operand(op, i).at(0), index.element()));
  };
  const LoopRange range{bound(0), bound(1), bound(2), ir::isSigned(index.element())};
  const ir::Block &body = op.regions[0];
  auto carried = run.take(llvm::ArrayRef(op.operands).drop_front(3));
  const std::uint64_t trips = range.trips();
  for (std::uint64_t trip = 0; trip < trips; ++trip) {
    const std::uint64_t i = wrapped(range.low + trip * range.step, index.element());
    run.set(body.arguments[0], Value{{}, {i}, {}});
    setAll(run, llvm::ArrayRef(body.arguments).drop_front(), carried);
    const Flow flow = run.execute(body);
    if (flow == Flow::Exit || flow == Flow::Failed) return flow;
    carried = run.handedOver;
    if (flow == Flow::Break) break;
  }
  setAll(run, op.results, carried);
  return Flow::Next;
}

Flow runWhile(BlockRun &run, const ir::Op &op) {
  const ir::Block &body = op.regions[0];
  run.handedOver = run.take(op.operands);
  Flow flow = Flow::Next;
  while (flow == Flow::Next) {
    setAll(run, body.arguments, run.handedOver);
    flow = run.execute(body);
  }
  if (flow != Flow::Break) return flow;
  setAll(run, op.results, run.handedOver);
  return Flow::Next;
}

Flow runIf(BlockRun &run, const ir::Op &op) {
  const size_t chosen = run.operand(op, 0).at(0) != 0 ? 0 : 1;
  if (chosen == op.regions.size()) return Flow::Next; // no second body
  if (const Flow flow = run.execute(op.regions[chosen]); flow != Flow::Next) return flow;
  if (!op.results.empty()) setAll(run, op.results, run.handedOver);
  return Flow::Next;
}

Flow runYield(BlockRun &run, const ir::Op &op) {
  run.handedOver = run.take(op.operands);
  return Flow::Next;
}

Flow runBreakIf(BlockRun &run, const ir::Op &op) {
  if (run.operand(op, 0).at(0) == 0) return Flow::Next;
  run.handedOver = run.take(llvm::ArrayRef(op.operands).drop_front());
  return Flow::Break;
}

Flow runExitIf(BlockRun &run, const ir::Op &op) {
  return run.operand(op, 0).at(0) != 0 ? Flow::Exit : Flow::Next;
}

} // namespace imbrex::interpret
