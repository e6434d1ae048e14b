#include "backend/interpret/block_run.h"

namespace imbrex::interpret {

Flow runRingNew(BlockRun &run, const ir::Op &op) {
  run.ring(op.result()) = {.slots = op.attrs<ir::RingAttrs>().slots, .tiles = {}};
  return Flow::Next;
}

Flow runRingFill(BlockRun &run, const ir::Op &op, llvm::function_ref<std::optional<Value>()> load) {
  BlockRun::Ring &ring = run.ring(op.operand(0));
  if (!run.isAhead && std::ssize(ring.tiles) >= ring.slots) {
    run.launch().diagnostics.report(Diag::RingIsFull, op.where, info(op.kind).mnemonic, ring.slots);
    return Flow::Failed;
  }
  auto tile = load();
  if (!tile) return Flow::Failed;
  ring.tiles.push_back(std::move(*tile));
  return Flow::Next;
}

Flow runRingStore(BlockRun &run, const ir::Op &op) {
  return runRingFill(run, op, [&] { return std::optional(run.operand(op, 1)); });
}

/// What the first body waits for alone comes from the second, which may therefore run after it if
/// nothing waits: rings hold all that the first loads, and the second finds what it would have
/// found.
Flow runRoles(BlockRun &run, const ir::Op &op) {
  run.isAhead = true;
  const Flow loaded = run.execute(op.regions[0]);
  run.isAhead = false;
  return loaded == Flow::Next ? run.execute(op.regions[1]) : loaded;
}

Flow runRingSlot(BlockRun &run, const ir::Op &op) {
  BlockRun::Ring &ring = run.ring(op.operand(0));
  if (ring.tiles.empty()) {
    run.launch().diagnostics.report(Diag::RingIsEmpty, op.where, info(op.kind).mnemonic);
    return Flow::Failed;
  }
  run.set(op.result(), std::move(ring.tiles.front()));
  ring.tiles.pop_front();
  return Flow::Next;
}

Flow runSharedLoad(BlockRun &run, const ir::Op &op) { return run.passOn(op); }

// A copy is done at once, and all threads are one: nobody need wait.
Flow runRingCommit(BlockRun &, const ir::Op &) { return Flow::Next; }
Flow runRingDrain(BlockRun &, const ir::Op &) { return Flow::Next; }
Flow runMeet(BlockRun &, const ir::Op &) { return Flow::Next; }
Flow runBarrierNew(BlockRun &, const ir::Op &) { return Flow::Next; }
Flow runBarrierExpect(BlockRun &, const ir::Op &) { return Flow::Next; }
Flow runBarrierArrive(BlockRun &, const ir::Op &) { return Flow::Next; }
Flow runBarrierWait(BlockRun &, const ir::Op &) { return Flow::Next; }

} // namespace imbrex::interpret
