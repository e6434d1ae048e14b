#include "backend/passes/fold.h"

#include "backend/ir/builder.h"
#include "backend/passes/constants.h"
#include "backend/passes/rewriting.h"
#include "llvm/ADT/STLExtras.h"

#include <optional>
#include <utility>

namespace imbrex::passes {
namespace {

using namespace ir;
using Ops = std::vector<std::unique_ptr<Op>>;

enum class Trips : std::uint8_t { None, One, Unknown };

/// How often a for runs its body, as far as it matters here.
Trips tripsOf(const Kernel &kernel, const Op &loop) {
  const auto low = constantInteger(kernel, loop.operand(0));
  const auto high = constantInteger(kernel, loop.operand(1));
  const auto step = constantInteger(kernel, loop.operand(2));
  if (step == 0) return Trips::None;
  if (loop.operand(0) == loop.operand(1)) return Trips::None;
  if (!low || !high || !step) return Trips::Unknown;
  if (*step > 0 ? *low >= *high : *low <= *high) return Trips::None;
  const auto distance = [](std::int64_t from, std::int64_t to) {
    return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
  };
  const bool endsAtOnce = *step > 0 ? distance(*low, *high) <= distance(0, *step)
                                    : distance(*high, *low) <= distance(*step, 0);
  return endsAtOnce ? Trips::One : Trips::Unknown;
}

/// Whether the loop itself may be left by a break_if.
bool hasBreak(const Block &body) {
  return llvm::any_of(body.ops, [](const auto &op) {
    if (op->kind == OpKind::BreakIf) return true;
    return op->kind == OpKind::If && llvm::any_of(op->regions, hasBreak);
  });
}

/// The operand that holds the mask of a load or a store, where there is one.
std::optional<size_t> maskOperand(const Op &op) {
  if (op.kind == OpKind::Load && op.operands.size() >= 2) return 1;
  if (op.kind == OpKind::Store && op.operands.size() == 3) return 2;
  return std::nullopt;
}

class Folder {
public:
  Folder(Kernel &kernel, const analysis::Assumptions &assumptions)
      : kernel_(&kernel), assumptions_(assumptions) {}

  void fold(Block &block) {
    Ops ops = std::exchange(block.ops, {});
    block.ops.reserve(ops.size());
    foldInto(block, std::move(ops));
  }

private:
  void foldInto(Block &block, Ops ops) {
    for (auto &op : ops) {
      replaced_.applyTo(*op);
      if (!decided(block, *op)) {
        dropFullMask(*op);
        for (Block &region : op->regions) fold(region);
        block.ops.push_back(std::move(op));
      } else {
        forget(*kernel_, *op);
      }
    }
  }

  /// Whether the op is gone, what it stood for being written into the block.
  bool decided(Block &block, Op &op) {
    if (op.kind == OpKind::If) return decidedIf(block, op);
    if (op.kind == OpKind::For) return decidedFor(block, op);
    if (op.kind == OpKind::BreakIf || op.kind == OpKind::ExitIf)
      return constantBits(*kernel_, op.operand(0)) == 0;
    if (op.kind == OpKind::Assert) return constantBits(*kernel_, op.operand(0)) == 1;
    return decidedValue(block, op);
  }

  bool decidedValue(Block &block, const Op &op) {
    if (op.results.size() != 1 || op.operands.empty()) return false;
    const auto bits =
        isUnitStride(op) ? std::optional<std::uint64_t>(1) : constantResult(*kernel_, op);
    if (!bits) return false;
    auto constant = makeOp(*kernel_, OpKind::Constant, {}, kernel_->type(op.result()),
                           ConstantAttrs{*bits}, op.where);
    replaced_.replace(op.result(), constant->result());
    block.ops.push_back(std::move(constant));
    return true;
  }

  /// Whether it is 1 in each launch of the code.
  bool isUnitStride(const Op &op) const {
    return op.kind == OpKind::ViewStride &&
           assumptions_.haveNeighbours(*kernel_, op.operand(0), op.attrs<AxisAttrs>().axis);
  }

  bool decidedIf(Block &block, Op &op) {
    const auto condition = constantBits(*kernel_, op.operand(0));
    if (!condition) return false;
    runOnce(block, op, op.regions[*condition != 0 ? 0 : 1]);
    return true;
  }

  bool decidedFor(Block &block, Op &loop) {
    const llvm::ArrayRef<ValueId> initial =
        llvm::ArrayRef<ValueId>(loop.operands).drop_front(firstCarriedOperand(loop));
    switch (tripsOf(*kernel_, loop)) {
    case Trips::None: standFor(loop.results, initial); return true;
    case Trips::One: {
      Block &body = loop.regions.front();
      if (hasBreak(body)) return false;
      const llvm::ArrayRef<ValueId> arguments = body.arguments;
      standFor(arguments.take_front(), loop.operand(0));
      standFor(arguments.drop_front(), initial);
      runOnce(block, loop, body);
      return true;
    }
    case Trips::Unknown: return false;
    }
    return false;
  }

  /// The region's ops go into the block, and what it yields is what `op` gives.
  void runOnce(Block &block, const Op &op, Block &region) {
    const llvm::SmallVector<ValueId, 4> yielded = yieldOf(region).operands;
    region.ops.pop_back();
    foldInto(block, std::exchange(region.ops, {}));
    standFor(op.results, yielded);
  }

  void standFor(llvm::ArrayRef<ValueId> values, llvm::ArrayRef<ValueId> by) {
    for (size_t i = 0; i < values.size(); ++i) replaced_.replace(values[i], by[i]);
  }

  void dropFullMask(Op &op) {
    const auto mask = maskOperand(op);
    if (mask && constantBits(*kernel_, op.operand(*mask)) == 1) op.operands.truncate(*mask);
  }

  Kernel *kernel_;
  const analysis::Assumptions &assumptions_;
  Replacements replaced_;
};

} // namespace

void foldConstants(Kernel &kernel, const PassContext &context) {
  Folder(kernel, context.assumptions).fold(kernel.body());
}

} // namespace imbrex::passes
