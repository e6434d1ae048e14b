#include "backend/passes/pipeline/refill_rings.h"

#include "backend/analysis/names_in_products.h"
#include "backend/ir/products.h"
#include "backend/passes/pipeline/read_condition.h"

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;

std::vector<AheadLoad> loadsIntoRings(const LoopLoads &loads) {
  std::vector<AheadLoad> found;
  llvm::copy_if(loads.loads, std::back_inserter(found),
                [](const AheadLoad &load) { return load.by != Ahead::Registers; });
  return found;
}

/// Or else threads may hold otherwise what they load (analysis/column_loads.h).
bool areHintedAlike(const Op &one, const Op &other) {
  if (one.kind != OpKind::ViewLoad) return true;
  const auto &its = one.attrs<ViewAttrs>(), &others = other.attrs<ViewAttrs>();
  return its.cache == others.cache && its.eviction == others.eviction;
}

/// Whether the second stands behind the first, in the same body.
bool standInRow(const Block &block, const Op &first, const Op &second) {
  const auto isOne = [](const Op &wanted) {
    return [&](const auto &op) { return op.get() == &wanted; };
  };
  const auto at = llvm::find_if(block.ops, isOne(first));
  if (at != block.ops.end()) return std::any_of(at + 1, block.ops.end(), isOne(second));
  return llvm::any_of(block.ops, [&](const auto &op) {
    return llvm::any_of(op->regions,
                        [&](const Block &region) { return standInRow(region, first, second); });
  });
}

/// Whether it works on tiles beside the loads and the products.
bool worksOnTiles(const Kernel &kernel, const Op &loop) {
  return llvm::any_of(loop.regions[0].ops, [&](const auto &op) {
    return !isLoad(*op) && !isProduct(*op) && llvm::any_of(op->results, [&](ValueId result) {
      return kernel.layoutOf(result).valid() && !analysis::namesInProducts(kernel, result);
    });
  });
}

} // namespace

bool canRefill(const Kernel &kernel, const Op &first, const LoopLoads &itsLoads, const Op &second,
               const LoopLoads &loads) {
  const std::vector<AheadLoad> its = loadsIntoRings(itsLoads), wanted = loadsIntoRings(loads);
  const auto areAlike = [&](const AheadLoad &a, const AheadLoad &b) {
    const ValueId one = a.op->result(), other = b.op->result();
    return a.by == b.by && a.by != Ahead::Boxes && a.width == b.width && a.op->kind == b.op->kind &&
           areHintedAlike(*a.op, *b.op) && kernel.type(one) == kernel.type(other) &&
           kernel.layout(kernel.layoutOf(one)) == kernel.layout(kernel.layoutOf(other)) &&
           itsLoads.inPlace.contains(one) && loads.inPlace.contains(other) &&
           analysis::depthAxisOf(kernel, one) == analysis::depthAxisOf(kernel, other);
  };
  const auto hasSlots = [](const AheadLoad &load) { return load.by == Ahead::Copies; };
  return !wanted.empty() && its.size() == wanted.size() &&
         std::ranges::equal(its, wanted, areAlike) && standInRow(kernel.body(), first, second) &&
         !mayBeLeft(first) &&
         (!llvm::any_of(wanted, hasSlots) ||
          (worksOnTiles(kernel, first) && worksOnTiles(kernel, second)));
}

std::map<const Op *, const Op *> refilledLoops(const Kernel &kernel,
                                               const std::vector<Op *> &loops) {
  std::map<const Op *, const Op *> refilled;
  const auto slotsOf = [](const Op &loop) { return loop.attrs<ForAttrs>().slots; };
  const auto loadsOf = [&](const Op &loop) {
    return slotsOf(loop) > ForAttrs::kInRegisters
               ? loadsOfRings(kernel, loop)
               : loadsAhead(kernel, loop, {Ahead::Registers, Ahead::Stores});
  };
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const auto back = static_cast<std::size_t>(loops[i]->attrs<ForAttrs>().refills);
    if (back == 0 || back > i) continue;
    const Op &first = *loops[i - back];
    if (slotsOf(first) == slotsOf(*loops[i]) &&
        canRefill(kernel, first, loadsOf(first), *loops[i], loadsOf(*loops[i])))
      refilled[loops[i]] = &first;
  }
  return refilled;
}

} // namespace imbrex::passes::pipeline
