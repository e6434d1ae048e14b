#include "backend/interpret/block_run.h"

namespace imbrex::interpret {

void runRingNew(BlockRun &run, const ir::Op &op) {
  run.ring(op.result()) = {.slots = op.attrs<ir::RingAttrs>().slots, .tiles = {}};
}

Flow runRingFill(BlockRun &run, const ir::Op &op, llvm::function_ref<std::optional<Value>()> load) {
  if (run.operand(op, 1).at(0) == 0) return Flow::Next;
  BlockRun::Ring &ring = run.ring(op.operand(0));
  if (std::ssize(ring.tiles) >= ring.slots) {
    run.launch().diagnostics.report(Diag::RingIsFull, op.where, info(op.kind).mnemonic, ring.slots);
    return Flow::Failed;
  }
  auto tile = load();
  if (!tile) return Flow::Failed;
  ring.tiles.push_back(std::move(*tile));
  return Flow::Next;
}

Flow runRingRead(BlockRun &run, const ir::Op &op) {
  BlockRun::Ring &ring = run.ring(op.operand(0));
  if (ring.tiles.empty()) {
    run.launch().diagnostics.report(Diag::RingIsEmpty, op.where, info(op.kind).mnemonic);
    return Flow::Failed;
  }
  run.set(op.result(), std::move(ring.tiles.front()));
  ring.tiles.pop_front();
  return Flow::Next;
}

} // namespace imbrex::interpret
