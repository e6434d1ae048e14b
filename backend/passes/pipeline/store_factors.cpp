#include "backend/passes/pipeline/store_factors.h"

#include "backend/analysis/matrix_product.h"
#include "backend/ir/builder.h"
#include "backend/ir/products.h"
#include "backend/ir/ring_bytes.h"
#include "backend/ir/shared_tiles.h"
#include "backend/layout/conversion.h"
#include "backend/passes/pipeline/plan_loop.h"
#include "backend/passes/rewriting.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;

/// A loop, and what is to be stored in front of it.
struct Storing {
  Op *loop;
  bool isWithinLoop;
  std::vector<ValueId> tiles = {};
};

class FactorFinder {
public:
  FactorFinder(const Kernel &kernel, const machine::Machine &machine)
      : kernel_(kernel), machine_(machine) {}

  /// In the order of the code.
  std::vector<Storing> find(Block &body) {
    visit(body);
    return std::move(found_);
  }

private:
  void visit(Block &body) {
    for (const ValueId argument : body.arguments) loopsAround_[argument] = loops_.size();
    for (const auto &op : body.ops) {
      if (isProduct(*op) && isOnUnit(*op))
        for (const std::size_t i : {0, 1}) consider(*op, i);
      const bool isOneLoop = isLoop(*op);
      if (isOneLoop) loops_.push_back(op.get());
      for (Block &region : op->regions) visit(region);
      if (isOneLoop) loops_.pop_back();
      for (const ValueId result : op->results) loopsAround_[result] = loops_.size();
    }
  }

  void consider(const Op &product, std::size_t i) {
    const ValueId tile = product.operand(i);
    const std::size_t outer = loopsAround_.at(tile);
    if (outer == loops_.size() || !isStorable(product, i)) return;
    Op *const loop = loops_[outer];
    auto storing = llvm::find_if(found_, [&](const Storing &of) { return of.loop == loop; });
    if (storing == found_.end()) {
      found_.push_back({.loop = loop, .isWithinLoop = outer > 0});
      storing = std::prev(found_.end());
    }
    if (!llvm::is_contained(storing->tiles, tile)) storing->tiles.push_back(tile);
  }

  /// Whether its elements lie elsewhere than the instruction wants them, and in whole bytes.
  bool isStorable(const Op &product, std::size_t i) const {
    const Type &tile = kernel_.type(product.operand(i));
    if (tile.isShared() || sharesByte(tile.element())) return false;
    const machine::MmaInstruction &unit = *analysis::unitOf(kernel_, product, machine_);
    const auto reads = analysis::fragmentReads(
        kernel_, product, i,
        {unit, layout::bitsFor(depthOf(kernel_, product)), unitAttrs(product).depthOrder});
    const layout::ConversionPlan plan =
        planConversion(kernel_.layout(kernel_.layoutOf(product.operand(i))), reads.places);
    return plan.kind != layout::ConversionKind::None &&
           plan.kind != layout::ConversionKind::Registers;
  }

  const Kernel &kernel_;
  const machine::Machine &machine_;
  std::vector<Op *> loops_;                    // around what is looked at, the outermost first
  std::map<ValueId, std::size_t> loopsAround_; // around what defines a value
  std::vector<Storing> found_;
};

class FactorStorer {
public:
  FactorStorer(Kernel &kernel, const machine::Machine &machine)
      : kernel_(kernel), machine_(machine) {}

  void visit(Block &body, std::vector<Storing> &wanted) {
    for (std::size_t i = 0; i < body.ops.size(); ++i) {
      Op &op = *body.ops[i];
      for (Block &region : op.regions) visit(region, wanted);
      const auto storing = llvm::find_if(wanted, [&](const Storing &of) { return of.loop == &op; });
      if (storing == wanted.end()) continue;
      Block stores = storesFor(*storing, body);
      const std::size_t count = stores.ops.size();
      moveInto(body, i, std::move(stores));
      i += count;
    }
  }

  Block takeRings() { return std::move(rings_); }

private:
  /// How many blocks a core has room for, and whether one has, with this beside what there is.
  std::int64_t blocksWith(const TakenRoom &taken) const {
    const RingRoom room = ringRoom(kernel_, machine_, taken);
    if (room.bytes < 0) return 0;
    return machine_.sharedMemoryPerCore / std::max<std::int64_t>(room.limit - room.bytes, 1);
  }

  /// `around`: the block that the loop is in, where earlier loops' factors are stored, too.
  Block storesFor(const Storing &storing, const Block &around) {
    std::vector<ValueId> tiles;
    for (const ValueId tile : storing.tiles) {
      if (const auto known = slotOf_.find({tile, &around}); known != slotOf_.end()) {
        readFrom(*storing.loop, tile, known->second);
        continue;
      }
      TakenRoom more = taken_;
      more.bytes += slotBytes(kernel_.type(tile), kernel_.layout(kernel_.layoutOf(tile)));
      more.inPlace.insert(tile);
      if (const std::int64_t blocks = blocksWith(more); blocks == 0 || blocks < blocksWith(taken_))
        continue;
      taken_ = std::move(more);
      tiles.push_back(tile);
    }
    Block block;
    if (tiles.empty()) return block;
    Builder to(kernel_, block);
    to.setLocation(storing.loop->where);
    if (storing.isWithinLoop) to.create(OpKind::Meet, {}, {});
    std::vector<ValueId> rings;
    for (const ValueId tile : tiles) {
      rings.push_back(newRing(tile));
      to.create(OpKind::RingStore, {rings.back(), tile}, {});
    }
    to.create(OpKind::Meet, {}, {});
    for (const auto &[tile, ring] : llvm::zip_equal(tiles, rings)) {
      const Type &type = kernel_.type(tile);
      const ValueId slot = to.create(OpKind::RingSlot, {ring}, {Type::shared(type)}).result();
      kernel_.setLayout(slot, kernel_.addLayout(inRows(type.shape()))); // place-slots chooses
      slotOf_[{tile, &around}] = slot;
      readFrom(*storing.loop, tile, slot);
    }
    return block;
  }

  ValueId newRing(ValueId tile) {
    Builder to(kernel_, rings_);
    const Op *const made = kernel_.definition(tile);
    to.setLocation(made ? made->where : kernel_.where());
    const ValueId ring = to.create(OpKind::RingNew, {}, {Type::ring(kernel_.type(tile))},
                                   RingAttrs{.slots = 1, .by = Ahead::Stores})
                             .result();
    kernel_.setLayout(ring, kernel_.layoutOf(tile));
    return ring;
  }

  void readFrom(Op &loop, ValueId tile, ValueId slot) {
    for (Block &region : loop.regions)
      walk(region, [&](Op &op) {
        if (!isProduct(op) || !isOnUnit(op)) return;
        for (const std::size_t i : {0, 1})
          if (op.operand(i) == tile) op.operands[i] = slot;
      });
  }

  Kernel &kernel_;
  const machine::Machine &machine_;
  TakenRoom taken_;
  Block rings_;
  std::map<std::pair<ValueId, const Block *>, ValueId> slotOf_; // of a tile, in a block
};

} // namespace

void storeFactors(Kernel &kernel, const PassContext &context) {
  std::vector<Storing> found = FactorFinder(kernel, context.machine).find(kernel.body());
  if (found.empty()) return;
  FactorStorer storer(kernel, context.machine);
  storer.visit(kernel.body(), found);
  moveInto(kernel.body(), 0, storer.takeRings());
}

} // namespace imbrex::passes::pipeline
