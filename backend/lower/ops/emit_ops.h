#pragma once

namespace imbrex::ir {
struct Op;
}

namespace imbrex::lower {

class Emitter;

// The ops, by topic.
void emitElementwiseOp(Emitter &emitter, const ir::Op &op);
void emitConstant(Emitter &emitter, const ir::Op &op);
void emitArange(Emitter &emitter, const ir::Op &op);
void emitCastOp(Emitter &emitter, const ir::Op &op);
void emitBitcast(Emitter &emitter, const ir::Op &op);
void emitPointerAdd(Emitter &emitter, const ir::Op &op);
void emitMovement(Emitter &emitter, const ir::Op &op); // broadcast … flip, convert_layout, gather
void emitTablePointer(Emitter &emitter, const ir::Op &op);
void emitLoad(Emitter &emitter, const ir::Op &op);
void emitStore(Emitter &emitter, const ir::Op &op);
void emitViewLoad(Emitter &emitter, const ir::Op &op);
void emitViewStore(Emitter &emitter, const ir::Op &op);
void emitRingCopy(Emitter &emitter, const ir::Op &op);
void emitRingCopyBox(Emitter &emitter, const ir::Op &op);
void emitRingStore(Emitter &emitter, const ir::Op &op);
void emitRingSlot(Emitter &emitter, const ir::Op &op);
void emitSharedLoad(Emitter &emitter, const ir::Op &op);
void emitRingLoadBox(Emitter &emitter, const ir::Op &op);
void emitBarrierExpect(Emitter &emitter, const ir::Op &op);
void emitBarrierArrive(Emitter &emitter, const ir::Op &op);
void emitAtomic(Emitter &emitter, const ir::Op &op);
void emitReduce(Emitter &emitter, const ir::Op &op);
void emitScan(Emitter &emitter, const ir::Op &op);
void emitSort(Emitter &emitter, const ir::Op &op);
void emitHistogram(Emitter &emitter, const ir::Op &op);
void emitDot(Emitter &emitter, const ir::Op &op);
void emitMatrixProduct(Emitter &emitter, const ir::Op &op);
void emitPrint(Emitter &emitter, const ir::Op &op);
void emitAssert(Emitter &emitter, const ir::Op &op);
void emitInlineAsm(Emitter &emitter, const ir::Op &op);

} // namespace imbrex::lower
