#include "backend/passes/pipeline/store_factors.h"

#include "backend/analysis/matrix_product.h"
#include "backend/ir/products.h"
#include "backend/ir/ring_bytes.h"
#include "backend/layout/conversion.h"
#include "backend/machine/occupancy.h"
#include "backend/passes/layouts/cost.h"
#include "backend/passes/pipeline/hold_factor.h"
#include "backend/passes/pipeline/plan_loop.h"
#include "backend/passes/pipeline/stored_slots.h"
#include "backend/passes/rewriting.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;

/// What is to be stored or held in front of each loop, in the order of its readers.
using FactorsOfLoops = std::map<const Op *, std::vector<ValueId>>;

class FactorFinder {
public:
  FactorFinder(const Kernel &kernel, const machine::Machine &machine)
      : kernel_(kernel), machine_(machine) {}

  FactorsOfLoops find() {
    visit(kernel_.body());
    return std::move(found_);
  }

private:
  void visit(const Block &body) {
    for (const ValueId argument : body.arguments) loopsAround_[argument] = loops_.size();
    for (const auto &op : body.ops) {
      if (isProduct(*op) && isOnUnit(*op))
        for (const std::size_t i : {0, 1}) consider(*op, i);
      if (isLoop(*op)) loops_.push_back(op.get());
      for (const Block &region : op->regions) visit(region);
      if (isLoop(*op)) loops_.pop_back();
      for (const ValueId result : op->results) loopsAround_[result] = loops_.size();
    }
  }

  void consider(const Op &product, std::size_t i) {
    const ValueId tile = product.operand(i);
    const std::size_t outer = loopsAround_.at(tile);
    if (outer == loops_.size() || !isStorable(product, i)) return;
    std::vector<ValueId> &tiles = found_[loops_[outer]];
    if (!llvm::is_contained(tiles, tile)) tiles.push_back(tile);
  }

  /// Whether its elements lie elsewhere than the instruction wants them, and in whole bytes.
  bool isStorable(const Op &product, std::size_t i) const {
    const ValueId operand = product.operand(i);
    const Type &tile = kernel_.type(operand);
    if (tile.isShared() || sharesByte(tile.element())) return false;
    const auto reads =
        analysis::fragmentReads(kernel_, product, i, *analysis::unitOf(kernel_, product, machine_));
    return !staysInThreads(planConversion(kernel_.layout(kernel_.layoutOf(operand)), reads.places));
  }

  const Kernel &kernel_;
  const machine::Machine &machine_;
  std::vector<const Op *> loops_;              // around what is looked at, the outermost first
  std::map<ValueId, std::size_t> loopsAround_; // around what defines a value
  FactorsOfLoops found_;
};

class FactorStorer {
public:
  FactorStorer(Kernel &kernel, const machine::Machine &machine, const FactorsOfLoops &factors)
      : kernel_(kernel), machine_(machine), factors_(factors), blocks_(blocksWith(taken_)) {}

  void run() {
    visit(kernel_.body());
    moveInto(kernel_.body(), 0, std::move(rings_));
  }

private:
  void visit(Block &body) {
    for (std::size_t i = 0; i < body.ops.size(); ++i) {
      Op &op = *body.ops[i];
      if (isLoop(op)) ++depth_;
      for (Block &region : op.regions) visit(region);
      if (isLoop(op)) --depth_;
      const auto factors = factors_.find(&op);
      if (factors == factors_.end()) continue;
      Block before = inFrontOf(op, factors->second, body);
      const std::size_t count = before.ops.size();
      moveInto(body, i, std::move(before));
      i += count;
    }
  }

  /// How many blocks a core has room for; 0 where not even one has, with this beside what there is.
  std::int64_t blocksWith(const TakenRoom &taken) const {
    const RingRoom room = ringRoom(kernel_, machine_, taken);
    if (room.bytes < 0) return 0;
    return machine_.sharedMemoryPerCore / std::max<std::int64_t>(room.taken(), 1);
  }

  /// Takes room for a tile, if that keeps no block from the core.
  bool takeRoom(ValueId tile) {
    TakenRoom more = taken_;
    more.bytes += slotBytes(kernel_.type(tile), kernel_.layout(kernel_.layoutOf(tile)));
    more.inPlace.insert(tile);
    const std::int64_t blocks = blocksWith(more);
    if (blocks == 0 || blocks < blocks_) return false;
    taken_ = std::move(more);
    blocks_ = blocks;
    return true;
  }

  /// What stands in front of a loop for its factors. `around`: the block that the loop is in, where
  /// earlier loops' factors are stored and held, too.
  Block inFrontOf(Op &loop, llvm::ArrayRef<ValueId> factors, const Block &around) {
    Block block;
    Builder to(kernel_, block);
    to.setLocation(loop.where);
    std::vector<ValueId> stored;
    for (const ValueId tile : factors) {
      if (const auto known = slotOf_.find({tile, &around}); known != slotOf_.end()) {
        readFrom(loop, tile, known->second);
        continue;
      }
      const auto held = heldLayout(kernel_, loop, tile, machine_);
      const bool isFew = held && takesFewRegisters(tile);
      if (!isFew && takeRoom(tile))
        stored.push_back(tile);
      else if (held)
        readFrom(loop, tile, hold(to, tile, *held, around));
    }
    if (!stored.empty()) store(to, loop, stored, around);
    return block;
  }

  void store(Builder &to, Op &loop, llvm::ArrayRef<ValueId> tiles, const Block &around) {
    if (depth_ > 0) to.create(OpKind::Meet, {}, {});
    std::vector<ValueId> rings;
    for (const ValueId tile : tiles) {
      rings.push_back(ringFor(tile));
      to.create(OpKind::RingStore, {rings.back(), tile}, {});
    }
    to.create(OpKind::Meet, {}, {});
    for (const auto &[tile, ring] : llvm::zip_equal(tiles, rings)) {
      const ValueId slot = takeStoredSlot(to, ring);
      slotOf_[{tile, &around}] = slot;
      readFrom(loop, tile, slot);
    }
  }

  bool takesFewRegisters(ValueId tile) const {
    // Sums, what a trip computes and what it loads ahead need most of them.
    constexpr std::int64_t kShare = 16;
    const std::int64_t all = machine::registersOfThread(machine_, kernel_.threads().count());
    const auto &held = kernel_.layout(kernel_.layoutOf(tile));
    return layouts::wordsOf(kernel_.type(tile), held) <= all / kShare;
  }

  /// Loops in one block that want a tile alike share what is made of it.
  ValueId hold(Builder &to, ValueId tile, const layout::LinearLayout &layout, const Block &around) {
    const auto [known, isNew] = heldAs_.try_emplace({tile, &around});
    if (isNew || kernel_.layout(kernel_.layoutOf(known->second)) != layout)
      known->second = holdFactor(kernel_, tile, layout, machine_, to);
    return known->second;
  }

  ValueId ringFor(ValueId tile) {
    Builder to(kernel_, rings_);
    const Op *const made = kernel_.definition(tile);
    to.setLocation(made ? made->where : kernel_.where());
    return addStoredRing(to, tile);
  }

  /// Its products read another value in place of a tile.
  void readFrom(Op &loop, ValueId tile, ValueId instead) const {
    for (Block &region : loop.regions)
      walk(region, [&](Op &op) {
        if (!isProduct(op) || !isOnUnit(op)) return;
        for (const std::size_t i : {0, 1})
          if (op.operand(i) == tile) op.operands[i] = instead;
      });
  }

  Kernel &kernel_;
  const machine::Machine &machine_;
  const FactorsOfLoops &factors_;
  TakenRoom taken_;
  std::int64_t blocks_; // with that
  int depth_ = 0;       // loops around what is looked at
  Block rings_;
  using OfTiles = std::map<std::pair<ValueId, const Block *>, ValueId>; // by tile, in a block
  OfTiles slotOf_, heldAs_;
};

} // namespace

void storeFactors(Kernel &kernel, const PassContext &context) {
  const FactorsOfLoops factors = FactorFinder(kernel, context.machine).find();
  if (!factors.empty()) FactorStorer(kernel, context.machine, factors).run();
}

} // namespace imbrex::passes::pipeline
