#pragma once

#include "backend/interpret/memory.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <deque>
#include <map>
#include <optional>

namespace imbrex::interpret {

/// How a body ended.
enum class Flow : std::uint8_t {
  Next,   // at its end, or by yield
  Break,  // by a break_if: the innermost loop ends
  Exit,   // by an exit_if: the block of the grid ends
  Failed, // an error was reported
};

/// What a launch has in common for all its blocks.
struct Launch {
  const ir::Kernel &kernel;
  const ir::Grid &grid;
  const Options &options;
  Diagnostics &diagnostics;
  Memory memory;
};

/// One block of the grid while it runs.
class BlockRun {
public:
  BlockRun(Launch &launch, std::int64_t block);

  Flow execute(const ir::Block &body);

  const ir::Kernel &kernel() const { return launch_.kernel; }
  const ir::Type &type(ir::ValueId value) const { return launch_.kernel.type(value); }
  const Value &value(ir::ValueId value) const { return values_[value.index()]; }
  const Value &operand(const ir::Op &op, size_t i) const { return value(op.operand(i)); }
  void set(ir::ValueId value, Value content) { values_[value.index()] = std::move(content); }
  llvm::SmallVector<Value, 4> take(llvm::ArrayRef<ir::ValueId> values) const;

  Launch &launch() { return launch_; }
  const std::array<std::int32_t, 3> &programId() const { return programId_; }

  /// What a ring holds, the oldest first.
  struct Ring {
    std::int32_t slots = 0;
    std::deque<Value> tiles;
  };
  Ring &ring(ir::ValueId ring) { return rings_[ring.index()]; }
  /// Whether rings may hold more than their slots: a role runs ahead of the one that reads.
  bool isAhead = false;

  /// What the last yield or break_if handed over.
  llvm::SmallVector<Value, 4> handedOver;

private:
  bool countStep(const ir::Op &op);

  Launch &launch_;
  std::array<std::int32_t, 3> programId_;
  std::vector<Value> values_;
  std::map<std::uint32_t, Ring> rings_; // by value number
  std::int64_t steps_ = 0;
};

/// Run one op: what each kind means (dispatch.cpp), by topic.
Flow runOp(BlockRun &run, const ir::Op &op);

// values.cpp: elementwise ops, conversions, values from nothing
void runConstant(BlockRun &run, const ir::Op &op);
void runArange(BlockRun &run, const ir::Op &op);
void runGridIndex(BlockRun &run, const ir::Op &op);
void runElementwise(BlockRun &run, const ir::Op &op);
void runCast(BlockRun &run, const ir::Op &op);
void runBitcast(BlockRun &run, const ir::Op &op);
// shape.cpp
void runBroadcast(BlockRun &run, const ir::Op &op);
void runReshape(BlockRun &run, const ir::Op &op);
void runPermute(BlockRun &run, const ir::Op &op);
void runJoin(BlockRun &run, const ir::Op &op);
void runSplit(BlockRun &run, const ir::Op &op);
void runConcat(BlockRun &run, const ir::Op &op);
void runSlice(BlockRun &run, const ir::Op &op);
void runFlip(BlockRun &run, const ir::Op &op);
void runConvertLayout(BlockRun &run, const ir::Op &op);
// access.cpp
void runPointerAdd(BlockRun &run, const ir::Op &op);
Flow runLoad(BlockRun &run, const ir::Op &op);
Flow runStore(BlockRun &run, const ir::Op &op);
Flow runAtomicRmw(BlockRun &run, const ir::Op &op);
Flow runAtomicCas(BlockRun &run, const ir::Op &op);
Flow runViewLoad(BlockRun &run, const ir::Op &op);
Flow runViewStore(BlockRun &run, const ir::Op &op);
void runViewProperty(BlockRun &run, const ir::Op &op);
void runTablePointer(BlockRun &run, const ir::Op &op);
Flow runRingCopy(BlockRun &run, const ir::Op &op);
Flow runRingCopyBox(BlockRun &run, const ir::Op &op);
Flow runRingStore(BlockRun &run, const ir::Op &op);
Flow runRingLoadBox(BlockRun &run, const ir::Op &op);
// rings.cpp: here a copy is done at once, so that nobody need wait
void runRingNew(BlockRun &run, const ir::Op &op);
Flow runRingFill(BlockRun &run, const ir::Op &op, llvm::function_ref<std::optional<Value>()> load);
Flow runRingSlot(BlockRun &run, const ir::Op &op);
void runSharedLoad(BlockRun &run, const ir::Op &op);
Flow runRoles(BlockRun &run, const ir::Op &op);
// axis.cpp
Flow runReduce(BlockRun &run, const ir::Op &op);
Flow runScan(BlockRun &run, const ir::Op &op);
// order.cpp
void runSort(BlockRun &run, const ir::Op &op);
void runHistogram(BlockRun &run, const ir::Op &op);
void runGather(BlockRun &run, const ir::Op &op);
// product.cpp
void runDot(BlockRun &run, const ir::Op &op);
void runDotScaled(BlockRun &run, const ir::Op &op);
// random.cpp
void runPhilox(BlockRun &run, const ir::Op &op);
// observe.cpp
void runPrint(BlockRun &run, const ir::Op &op);
Flow runAssert(BlockRun &run, const ir::Op &op);
Flow runInlineAsm(BlockRun &run, const ir::Op &op);
// control.cpp
Flow runFor(BlockRun &run, const ir::Op &op);
Flow runWhile(BlockRun &run, const ir::Op &op);
Flow runIf(BlockRun &run, const ir::Op &op);
Flow runYield(BlockRun &run, const ir::Op &op);
Flow runBreakIf(BlockRun &run, const ir::Op &op);
Flow runExitIf(BlockRun &run, const ir::Op &op);

} // namespace imbrex::interpret
