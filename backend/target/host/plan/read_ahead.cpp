#include "backend/target/host/plan/read_ahead.h"

#include "backend/target/host/plan/access.h"
#include "backend/target/host/plan/nest_shape.h"
#include "backend/target/host/plan/value_steps.h"
#include "llvm/ADT/MapVector.h"

#include <optional>

namespace imbrex::host {
namespace {

using ir::ValueId;

// This box, the next and a tile of scratch fit together into a second-level cache of 512 KiB; with
// boxes that do not fit, prefetching is slower than not to.
constexpr std::int64_t kMostBytes = 128 << 10;

std::int64_t bytesOf(const ir::Type &tile) {
  return tile.shape().elements() * scratchElementBytes(tile);
}

/// How far the box of a load, or the memory of its pointers, moves from a block to the next;
/// nothing where it stays, or where that is not known.
std::optional<ReadAhead> movedByBlock(const ir::Op &load, const ValueSteps &steps) {
  const auto moved = steps.ofLoad(load);
  const bool stays = !moved || llvm::all_of(*moved, [](std::int64_t step) { return step == 0; });
  return stays ? std::nullopt : std::optional(ReadAhead{.load = &load, .step = *moved});
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
  const ValueSteps steps = ValueSteps::alongBlocks(kernel);
  for (const auto &entry : readers)
    if (isAgain(entry))
      if (const std::optional<ReadAhead> ahead = movedByBlock(*entry.first, steps))
        entry.second.back()->ahead.push_back(*ahead);
}

} // namespace imbrex::host
