#include "backend/analysis/rings_in_step.h"

#include "backend/analysis/ring_copies.h"
#include "backend/ir/ring_bytes.h"
#include "llvm/ADT/STLExtras.h"

#include <set>
#include <utility>
#include <vector>

namespace imbrex::analysis {
namespace {

using namespace ir;

/// Whether in each body a slot of the first ring is taken before one of the second, by turns, and
/// no body lies between them.
bool areTakenByTurns(const Block &block, ValueId first, ValueId second) {
  bool isOpen = false; // of the first, and not yet of the second
  for (const auto &op : block.ops) {
    if (isOpen && !op->regions.empty()) return false;
    for (const Block &region : op->regions)
      if (!areTakenByTurns(region, first, second)) return false;
    if (op->kind != OpKind::RingSlot) continue;
    const bool isFirst = op->operand(0) == first;
    if (!isFirst && op->operand(0) != second) continue;
    if (isFirst == isOpen) return false;
    isOpen = isFirst;
  }
  return !isOpen;
}

} // namespace

std::map<ValueId, ValueId> ringsInStep(const Kernel &kernel) {
  std::vector<ValueId> rings;
  walk(kernel.body(), [&](const Op &op) {
    if (op.kind == OpKind::RingNew && filledBy(kernel, op.result()) == Ahead::Copies)
      rings.push_back(op.result());
  });
  const auto slotsOf = [&](ValueId ring) {
    return std::pair(kernel.definition(ring)->attrs<RingAttrs>().slots, slotBytes(kernel, ring));
  };
  std::map<ValueId, ValueId> leaderOf;
  std::set<ValueId> leaders;
  for (std::size_t i = 1; i < rings.size(); ++i)
    for (const ValueId before : llvm::reverse(llvm::ArrayRef(rings).take_front(i)))
      if (!leaders.contains(before) && slotsOf(before) == slotsOf(rings[i]) &&
          areTakenByTurns(kernel.body(), before, rings[i])) {
        leaderOf.emplace(rings[i], before);
        leaders.insert(before);
        break;
      }
  return leaderOf;
}

} // namespace imbrex::analysis
