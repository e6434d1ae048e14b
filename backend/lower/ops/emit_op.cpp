#include "backend/ir/products.h"
#include "backend/lower/emitter.h"
#include "backend/lower/ops/emit_ops.h"
#include "backend/support/check.h"

namespace imbrex::lower {

using ir::OpKind;

void Emitter::emitOp(const ir::Op &op) {
  if (order.needsMeetingBefore(op)) meetForAll();
  emitCode(op);
  order.add(op);
}

/// A switch without a default: a new op makes the compiler ask for its code.
void Emitter::emitCode(const ir::Op &op) {
  switch (op.kind) {
  case OpKind::Constant: return emitConstant(*this, op);
  case OpKind::Arange: return emitArange(*this, op);
  case OpKind::ProgramId: return define(op.result(), {blockIndex(op.attrs<ir::AxisAttrs>().axis)});
  case OpKind::NumPrograms:
    return define(op.result(), {words.gridExtent(b, op.attrs<ir::AxisAttrs>().axis)});

#define IMBREX_OP(...)
#define IMBREX_ELEMENTWISE(Kind, ...) case OpKind::Kind:
#include "backend/ir/ops.def"
    return emitElementwiseOp(*this, op);
  case OpKind::Cast: return emitCastOp(*this, op);
  case OpKind::Bitcast: return emitBitcast(*this, op);

  case OpKind::Broadcast:
  case OpKind::Reshape:
  case OpKind::Permute:
  case OpKind::Join:
  case OpKind::Split:
  case OpKind::Concat:
  case OpKind::Slice:
  case OpKind::Flip:
  case OpKind::Gather:
  case OpKind::ConvertLayout: return emitMovement(*this, op);

  case OpKind::PointerAdd: return emitPointerAdd(*this, op);
  case OpKind::Load: return emitLoad(*this, op);
  case OpKind::Store: return emitStore(*this, op);
  case OpKind::AtomicRmw:
  case OpKind::AtomicCas: return emitAtomic(*this, op);
  case OpKind::ViewLoad: return emitViewLoad(*this, op);
  case OpKind::ViewStore: return emitViewStore(*this, op);
  case OpKind::ViewExtent:
    return define(
        op.result(),
        {view(op.operand(0)).extents[static_cast<std::size_t>(op.attrs<ir::AxisAttrs>().axis)]});
  case OpKind::ViewStride:
    return define(
        op.result(),
        {view(op.operand(0)).strides[static_cast<std::size_t>(op.attrs<ir::AxisAttrs>().axis)]});
  case OpKind::ViewData: return define(op.result(), {view(op.operand(0)).data});
  case OpKind::ViewBytes: views_[op.result()] = viewOfBytes(b, view(op.operand(0))); return;
  case OpKind::TablePointer: return emitTablePointer(*this, op);

  case OpKind::Reduce: return emitReduce(*this, op);
  case OpKind::Scan: return emitScan(*this, op);
  case OpKind::Sort: return emitSort(*this, op);
  case OpKind::Histogram: return emitHistogram(*this, op);
  case OpKind::Dot:
  case OpKind::DotScaled: // without a unit: expand-products
    return ir::isOnUnit(op) ? emitMatrixProduct(*this, op) : emitDot(*this, op);

  case OpKind::Print: return emitPrint(*this, op);
  case OpKind::Assert: return emitAssert(*this, op);
  case OpKind::Require: return; // before the launch
  case OpKind::InlineAsm: return emitInlineAsm(*this, op);

  case OpKind::For: return emitFor(op);
  case OpKind::While: return emitWhile(op);
  case OpKind::If: return emitIf(op);
  case OpKind::BreakIf: return emitBreakIf(op);
  case OpKind::ExitIf: return endBlockIf(scalar(op.operand(0)));

  case OpKind::RingNew: return; // SharedRing, before all code
  case OpKind::RingCopy: return emitRingCopy(*this, op);
  case OpKind::RingCopyBox: return emitRingCopyBox(*this, op);
  case OpKind::RingStore: return emitRingStore(*this, op);
  case OpKind::RingSlot: return emitRingSlot(*this, op);
  case OpKind::SharedLoad: return emitSharedLoad(*this, op);
  case OpKind::RingCommit: return commitCopies();
  case OpKind::RingDrain: return drainCopies(op.attrs<ir::CountAttrs>().count);
  case OpKind::Meet: return meet(op.attrs<ir::MeetAttrs>().half);
  case OpKind::RingLoadBox: return emitRingLoadBox(*this, op);
  case OpKind::BarrierNew: return; // Barriers, before all code
  case OpKind::BarrierExpect: return emitBarrierExpect(*this, op);
  case OpKind::BarrierArrive: return emitBarrierArrive(*this, op);
  case OpKind::BarrierWait:
    return barriers(op.operand(0)).await(*this, op.attrs<ir::WaitAttrs>().flipped);
  case OpKind::Roles: return emitRoles(op);

  case OpKind::Yield:  // read by the loop or the if that it ends
  case OpKind::Philox: // expand-random
  case OpKind::VarNew: // construct-ssa
  case OpKind::VarRead:
  case OpKind::VarWrite: break;
  }
  IMBREX_UNREACHABLE("'{0}' is not lowered: a pass takes it away", info(op.kind).mnemonic);
}

} // namespace imbrex::lower
