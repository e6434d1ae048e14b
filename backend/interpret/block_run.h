#pragma once

#include "backend/interpret/argument_memory.h"
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
struct InterpretedLaunch {
  const ir::Kernel &kernel;
  const ir::Grid &grid;
  const InterpreterOptions &options;
  Diagnostics &diagnostics;
  ArgumentMemory memory;
};

/// One block of the grid while it runs.
class BlockRun {
public:
  BlockRun(InterpretedLaunch &launch, std::int64_t block);

  Flow execute(const ir::Block &body);

  const ir::Kernel &kernel() const { return launch_.kernel; }
  const ir::Type &type(ir::ValueId value) const { return launch_.kernel.type(value); }
  const Value &value(ir::ValueId value) const { return values_[value.index()]; }
  const Value &operand(const ir::Op &op, size_t i) const { return value(op.operand(i)); }
  /// Flow::Next: what an op whose last result this is has come to.
  Flow set(ir::ValueId value, Value content) {
    values_[value.index()] = std::move(content);
    return Flow::Next;
  }
  /// The result of an op is its operand.
  Flow passOn(const ir::Op &op) { return set(op.result(), operand(op, 0)); }
  llvm::SmallVector<Value, 4> take(llvm::ArrayRef<ir::ValueId> values) const;

  InterpretedLaunch &launch() { return launch_; }
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

  InterpretedLaunch &launch_;
  std::array<std::int32_t, 3> programId_;
  std::vector<Value> values_;
  std::map<std::uint32_t, Ring> rings_; // by value number
  std::int64_t steps_ = 0;
};

/// Run one op, by its kind.
Flow runOp(BlockRun &run, const ir::Op &op);

/// What each kind means: `runLoad` and the like, by topic. values.cpp: elementwise ops,
/// conversions, values from nothing, variables; shape.cpp; access.cpp: memory; rings.cpp; axis.cpp,
/// order.cpp: what goes along an axis; product.cpp; random.cpp; observe.cpp; control.cpp.
#define IMBREX_OP(Kind, ...) Flow run##Kind(BlockRun &run, const ir::Op &op);
#define IMBREX_ELEMENTWISE(...)
#include "backend/ir/ops.def"
Flow runElementwise(BlockRun &run, const ir::Op &op);

/// Into a ring goes what `load` gives, if anything.
Flow runRingFill(BlockRun &run, const ir::Op &op, llvm::function_ref<std::optional<Value>()> load);

} // namespace imbrex::interpret
