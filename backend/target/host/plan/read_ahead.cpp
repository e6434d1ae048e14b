#include "backend/target/host/plan/read_ahead.h"

#include "backend/target/host/plan/access.h"
#include "backend/target/host/plan/nest_shape.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/CheckedArithmetic.h"

#include <array>
#include <optional>

namespace imbrex::host {
namespace {

using ir::OpKind;
using ir::ValueId;

// This box, the next and a tile of scratch fit together into a second-level cache of 512 KiB; with
// boxes that do not fit, prefetching is slower than not to.
constexpr std::int64_t kMostBytes = 128 << 10;

std::int64_t bytesOf(const ir::Type &tile) {
  return tile.shape().elements() * scratchElementBytes(tile);
}

/// By how much the values of a kernel's outermost block grow from a block of the grid to the next
/// along x. Integers count as unbounded; a pointer grows by elements.
class BlockSteps {
public:
  explicit BlockSteps(const ir::Kernel &kernel)
      : kernel_(kernel), steps_(kernel.valueCount(), std::nullopt) {
    for (const ValueId argument : kernel.body().arguments) steps_[argument.index()] = 0;
    for (const auto &op : kernel.body().ops)
      for (const ValueId result : op->results) steps_[result.index()] = stepOf(*op);
  }

  /// Nothing where the step is not the same everywhere, or not known.
  std::optional<std::int64_t> of(ValueId value) const { return steps_[value.index()]; }

private:
  std::optional<std::int64_t> stepOf(const ir::Op &op) const {
    if (op.kind == OpKind::ProgramId) return op.attrs<ir::AxisAttrs>().axis == 0 ? 1 : 0;
    std::optional<std::int64_t> sum = 0;
    bool isFixed = info(op.kind).effect == ir::Effect::Pure;
    for (const ValueId operand : op.operands) {
      const std::optional<std::int64_t> step = of(operand);
      isFixed &= step == 0;
      sum = sum && step ? llvm::checkedAdd(*sum, *step) : std::nullopt;
    }
    if (isFixed) return 0;
    if (op.kind == OpKind::Mul) return product(op);
    constexpr std::array kAdd = {OpKind::Add, OpKind::PointerAdd, OpKind::Cast, OpKind::Broadcast,
                                 OpKind::Reshape};
    return llvm::is_contained(kAdd, op.kind) ? sum : std::nullopt;
  }

  std::optional<std::int64_t> product(const ir::Op &op) const {
    for (const size_t i : {0, 1}) {
      const std::optional<std::int64_t> factor = ir::constantInteger(kernel_, op.operand(i));
      const std::optional<std::int64_t> step = of(op.operand(1 - i));
      if (factor && step) return llvm::checkedMul(*factor, *step);
    }
    return std::nullopt;
  }

  const ir::Kernel &kernel_;
  std::vector<std::optional<std::int64_t>> steps_; // by value number
};

/// How far the box of a load, or the memory of its pointers, moves from a block to the next;
/// nothing where it stays, or where that is not known.
std::optional<ReadAhead> movedByBlock(const ir::Op &load, const ir::Kernel &kernel,
                                      const BlockSteps &steps) {
  const ir::Type &type = kernel.type(load.result());
  const bool isBox = load.kind == OpKind::ViewLoad;
  const auto coordinates =
      isBox ? llvm::ArrayRef(load.operands).slice(1, static_cast<size_t>(type.rank()))
            : llvm::ArrayRef(load.operands).take_front(1);
  const bool inTiles = isBox && load.attrs<ir::ViewAttrs>().unit == ir::BoxUnit::Tiles;
  ReadAhead ahead{.load = &load, .step = {}};
  for (size_t i = 0; i < coordinates.size(); ++i) {
    const std::optional<std::int64_t> step = steps.of(coordinates[i]);
    const std::int64_t unit = inTiles ? type.shape()[static_cast<std::int32_t>(i)] : 1;
    const std::optional<std::int64_t> moved = step ? llvm::checkedMul(*step, unit) : std::nullopt;
    if (!moved) return std::nullopt;
    ahead.step.push_back(*moved);
  }
  const bool stays = llvm::all_of(ahead.step, [](std::int64_t step) { return step == 0; });
  return stays ? std::nullopt : std::optional(ahead);
}

} // namespace

void planReadAhead(LoopPlan &plan, const ir::Kernel &kernel) {
  llvm::MapVector<const ir::Op *, llvm::SmallVector<Nest *, 4>> readers;
  for (Step &step : plan.steps.at(&kernel.body())) {
    if (step.kind != Step::Kind::Nest) continue;
    llvm::SmallVector<ValueId, 8> roots;
    for (const Root &root : step.nest.roots) llvm::append_range(roots, operandsOf(root));
    forEachInline(kernel, plan, roots, [&](ValueId value, const ir::Op *op) {
      const bool isRead = op && isLoad(*op) && kernel.type(value).rank() > 0;
      if (isRead) readers[op].push_back(&step.nest);
    });
  }
  const auto isAgain = [&](const auto &entry) {
    return entry.second.size() > 1 && bytesOf(kernel.type(entry.first->result())) <= kMostBytes;
  };
  if (llvm::none_of(readers, isAgain)) return;
  const BlockSteps steps(kernel);
  for (const auto &entry : readers)
    if (isAgain(entry))
      if (const std::optional<ReadAhead> ahead = movedByBlock(*entry.first, kernel, steps))
        entry.second.back()->ahead.push_back(*ahead);
}

} // namespace imbrex::host
