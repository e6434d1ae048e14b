#include "backend/interpret/block_run.h"
#include "backend/support/check.h"

namespace imbrex::interpret {
namespace {

using ir::OpKind;

Flow next(void (*meaning)(BlockRun &, const ir::Op &), BlockRun &run, const ir::Op &op) {
  meaning(run, op);
  return Flow::Next;
}

void runVariable(BlockRun &run, const ir::Op &op) {
  if (op.kind == OpKind::VarWrite)
    run.set(op.operand(0), run.operand(op, 1));
  else
    run.set(op.result(), run.operand(op, 0));
}

} // namespace

Flow runOp(BlockRun &run, const ir::Op &op) {
  switch (op.kind) {
  case OpKind::Constant: return next(runConstant, run, op);
  case OpKind::Arange: return next(runArange, run, op);
  case OpKind::ProgramId:
  case OpKind::NumPrograms: return next(runGridIndex, run, op);

#define IMBREX_OP(...)
#define IMBREX_ELEMENTWISE(Kind, ...) case OpKind::Kind:
#include "backend/ir/ops.def"
    return next(runElementwise, run, op);
  case OpKind::Cast: return next(runCast, run, op);
  case OpKind::Bitcast: return next(runBitcast, run, op);

  case OpKind::Broadcast: return next(runBroadcast, run, op);
  case OpKind::Reshape: return next(runReshape, run, op);
  case OpKind::Permute: return next(runPermute, run, op);
  case OpKind::Join: return next(runJoin, run, op);
  case OpKind::Split: return next(runSplit, run, op);
  case OpKind::Concat: return next(runConcat, run, op);
  case OpKind::Slice: return next(runSlice, run, op);
  case OpKind::Flip: return next(runFlip, run, op);

  case OpKind::PointerAdd: return next(runPointerAdd, run, op);
  case OpKind::Load: return runLoad(run, op);
  case OpKind::Store: return runStore(run, op);
  case OpKind::AtomicRmw: return runAtomicRmw(run, op);
  case OpKind::AtomicCas: return runAtomicCas(run, op);
  case OpKind::ViewLoad: return runViewLoad(run, op);
  case OpKind::ViewStore: return runViewStore(run, op);
  case OpKind::ViewExtent:
  case OpKind::ViewStride:
  case OpKind::ViewData:
  case OpKind::ViewBytes: return next(runViewProperty, run, op);
  case OpKind::TablePointer: return next(runTablePointer, run, op);

  case OpKind::Reduce: return runReduce(run, op);
  case OpKind::Scan: return runScan(run, op);
  case OpKind::Sort: return next(runSort, run, op);
  case OpKind::Histogram: return next(runHistogram, run, op);
  case OpKind::Gather: return next(runGather, run, op);

  case OpKind::Dot: return next(runDot, run, op);
  case OpKind::DotScaled: return next(runDotScaled, run, op);
  case OpKind::Philox: return next(runPhilox, run, op);

  case OpKind::Print: return next(runPrint, run, op);
  case OpKind::Assert: return runAssert(run, op);
  case OpKind::Require: return Flow::Next; // before the first block
  case OpKind::InlineAsm: return runInlineAsm(run, op);

  case OpKind::For: return runFor(run, op);
  case OpKind::While: return runWhile(run, op);
  case OpKind::If: return runIf(run, op);
  case OpKind::Yield: return runYield(run, op);
  case OpKind::BreakIf: return runBreakIf(run, op);
  case OpKind::ExitIf: return runExitIf(run, op);

  case OpKind::ConvertLayout: return next(runConvertLayout, run, op);

  case OpKind::RingNew: return next(runRingNew, run, op);
  case OpKind::RingCopy: return runRingCopy(run, op);
  case OpKind::RingCopyBox: return runRingCopyBox(run, op);
  case OpKind::RingStore: return runRingStore(run, op);
  case OpKind::RingSlot: return runRingSlot(run, op);
  case OpKind::SharedLoad: return next(runSharedLoad, run, op);
  case OpKind::RingLoadBox: return runRingLoadBox(run, op);
  case OpKind::RingCommit:
  case OpKind::RingDrain:
  case OpKind::Meet:
  case OpKind::BarrierNew:
  case OpKind::BarrierExpect:
  case OpKind::BarrierArrive:
  case OpKind::BarrierWait: return Flow::Next; // all threads are one
  case OpKind::Roles: return runRoles(run, op);

  case OpKind::VarNew:
  case OpKind::VarRead:
  case OpKind::VarWrite: return next(runVariable, run, op);
  }
  IMBREX_UNREACHABLE("not an op");
}

} // namespace imbrex::interpret
