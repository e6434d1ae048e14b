#include "backend/passes/pipeline/stage_loads.h"

#include "backend/analysis/column_loads.h"
#include "backend/analysis/names_in_products.h"
#include "backend/layout/column_loads.h"
#include "backend/layout/tile_layout.h"
#include "backend/layout/vector_width.h"
#include "backend/machine/occupancy.h"
#include "backend/passes/layouts/cost.h"
#include "backend/passes/pipeline/stored_slots.h"
#include "backend/passes/pipeline/trip_writer.h"
#include "backend/passes/rewriting.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;

class Stager {
public:
  Stager(Kernel &kernel, Op &loop, const LoopLoads &loads, const machine::Machine &machine,
         std::vector<ValueId> given)
      : kernel_(&kernel), machine_(machine), loop_(loop), body_(loop.regions[0]), loads_(loads),
        trips_(kernel, loop, loads), rings_(std::move(given)) {
    for (const AheadLoad &load : loads.loads) tiles_.push_back(load.op->result());
    for (const ValueId tile : tiles_) carried_.push_back(tile);
    for (const ValueId carried : trips_.present()) carried_.push_back(carried);
  }

  /// What `run` has made for the head of the kernel's body.
  Block takeNewRings() { return std::move(newRings_); }
  std::vector<ValueId> takeRings() { return std::move(rings_); }

  /// What stands in front of the loop.
  Block run() {
    takeOrMakeRings();
    Block before;
    Builder to(*kernel_, before);
    to.setLocation(loop_.where);
    const ValueId all = trips_.wholeDistance(to);
    Renamed names = trips_.enter(to, loop_.operand(0), trips_.first());
    std::vector<ValueId> tiles = loadIf(to, trips_.isMore(to, all, 0), names);
    std::vector<ValueId> next = trips_.next(to, names);
    if (isStoredBehind_) {
      store(to, tiles);
      names = trips_.enter(to, trips_.ahead(to, loop_.operand(0), 1), next);
      tiles = loadIf(to, trips_.isMore(to, all, 1), names);
      next = trips_.next(to, names);
    }
    loop_.operands.append(tiles.begin(), tiles.end());
    loop_.operands.append(next.begin(), next.end());
    writeBody();
    return before;
  }

private:
  void setLayouts(llvm::ArrayRef<ValueId> values, llvm::ArrayRef<ValueId> like) {
    for (std::size_t i = 0; i < like.size(); ++i)
      kernel_->setLayout(values[i], kernel_->layoutOf(like[i]));
  }

  std::vector<Type> typesOf(llvm::ArrayRef<ValueId> values) const {
    std::vector<Type> types;
    for (const ValueId value : values) types.push_back(kernel_->type(value));
    return types;
  }

  /// The loads of a trip, if there is that trip.
  std::vector<ValueId> loadIf(Builder &to, ValueId condition, Renamed names) {
    to.setLocation(loop_.where);
    Op &branch = to.create(OpKind::If, {condition}, typesOf(tiles_));
    setLayouts(branch.results, tiles_);
    branch.regions.resize(2);
    Builder there(*kernel_, branch.regions[0]), none(*kernel_, branch.regions[1]);
    std::vector<ValueId> loaded, zeros;
    for (const AheadLoad &load : loads_.loads) {
      none.setLocation(load.op->where);
      loaded.push_back(copyOp(there, *load.op, names).result());
      zeros.push_back(none.constantBits(kernel_->type(load.op->result()), 0));
    }
    setLayouts(zeros, tiles_);
    there.create(OpKind::Yield, loaded, {});
    none.create(OpKind::Yield, zeros, {});
    return {branch.results.begin(), branch.results.end()};
  }

  void writeBody() {
    const std::vector<ValueId> arguments = addCarried(*kernel_, loop_, carried_);
    Block block;
    Builder to(*kernel_, block);
    to.setLocation(loop_.where);
    const ValueId index = body_.arguments[0];
    const ValueId left = trips_.distanceFrom(to, index);
    const std::int64_t ahead = isStoredBehind_ ? 2 : 1;
    Renamed names = trips_.enter(to, trips_.ahead(to, index, ahead),
                                 llvm::ArrayRef(arguments).drop_front(tiles_.size()));
    const ValueId isMore = trips_.isMore(to, left, ahead);
    Block fill;
    Builder filling(*kernel_, fill);
    filling.setLocation(loop_.where);
    store(filling, arguments);
    std::vector<ValueId> next = loadIf(filling, isMore, names);
    std::ranges::copy(trips_.next(filling, names), std::back_inserter(next));
    takeFrom(arguments);
    Block trip;
    Builder reading(*kernel_, trip);
    reading.setLocation(loop_.where);
    if (!ringOf_.empty()) reading.create(OpKind::Meet, {}, {});
    std::ranges::move(body_.ops, std::back_inserter(trip.ops));
    yieldOf(trip).operands.append(next.begin(), next.end());
    moveInto(trip, isStoredBehind_ ? trip.ops.size() - 1 : 0, std::move(fill));
    std::ranges::move(trip.ops, std::back_inserter(block.ops));
    body_.ops = std::move(block.ops);
  }

  /// Where warps load columns (layout/column_loads.h): who is to hold what such loads bring.
  std::optional<layout::LinearLayout> columnsOf(const Op &load, const layout::LinearLayout &held,
                                                std::int32_t depth, std::int32_t row) const {
    const Type &type = kernel_->type(load.result());
    const layout::RegisterVectors neighbours =
        layout::contiguousRegisters(held, layout::axisDim(row), layout::kElementsOfColumn);
    if (!analysis::mayLoadColumns(*kernel_, load, machine_) ||
        neighbours.width < layout::kElementsOfColumn)
      return std::nullopt;
    return layout::columnLayout(type.shape().extents(), kernel_->threads(), depth,
                                storageBits(type.element()));
  }

  /// Which rows a thread loads is no matter. Where k counts them, it is to have neighbours, which
  /// fragments hold side by side: these are then stored side by side, unless warps read columns.
  void haveNeighbours(const Op &load) {
    const ValueId tile = load.result();
    const std::int32_t bits = storageBits(kernel_->type(tile).element());
    if (machine::readsColumns(machine_, bits)) return;
    layout::LinearLayout held = kernel_->layout(kernel_->layoutOf(tile));
    const auto depth = analysis::depthAxisOf(*kernel_, tile);
    const std::int32_t row = layout::axisOfNeighbours(held, kernel_->type(tile).rank());
    if (!depth || *depth == row || !layout::isTileLayout(held)) return;
    if (auto columns = columnsOf(load, held, *depth, row)) {
      kernel_->setLayout(tile, kernel_->addLayout(std::move(*columns)));
      return;
    }
    // Words of bytes, which threads put together themselves: loads along one axis and stores along
    // the other are as few together as they can be where both are as long.
    constexpr std::int32_t kBitsOfByte = 8, kBytesOfWord = 2;
    if (bits == kBitsOfByte)
      held = layout::withRegistersAlong(
          held, *depth, std::max(kBytesOfWord, held.inputBits(layout::Dim::Register) / 2));
    kernel_->setLayout(tile, kernel_->addLayout(layout::withNeighboursInRegisters(held, *depth)));
  }

  /// One slot for each load whose tile is stored.
  void takeOrMakeRings() {
    const bool areGiven = !rings_.empty();
    for (const AheadLoad &load : loads_.loads) {
      if (load.by != Ahead::Stores) continue;
      const ValueId tile = load.op->result();
      Builder to(*kernel_, newRings_);
      if (load.op->kind == OpKind::ViewLoad)
        haveNeighbours(*load.op); // pointers are held as they are
      to.setLocation(load.op->where);
      if (!areGiven) rings_.push_back(addStoredRing(to, tile));
      ringOf_[tile] = rings_[ringOf_.size()];
    }
  }

  void store(Builder &to, llvm::ArrayRef<ValueId> arguments) {
    if (ringOf_.empty()) return;
    to.create(OpKind::Meet, {}, {});
    for (std::size_t i = 0; i < tiles_.size(); ++i)
      if (const auto ring = ringOf_.find(tiles_[i]); ring != ringOf_.end())
        to.create(OpKind::RingStore, {ring->second, arguments[i]}, {});
  }

  /// The carried tiles in place of the loads, or the slots in which they are.
  void takeFrom(llvm::ArrayRef<ValueId> arguments) {
    Replacements replaced;
    for (std::size_t i = 0; i < tiles_.size(); ++i)
      if (!ringOf_.contains(tiles_[i])) replaced.replace(tiles_[i], arguments[i]);
    Block block;
    for (auto &op : body_.ops) {
      const auto tile = op->results.empty() ? tiles_.end() : llvm::find(tiles_, op->result());
      if (tile == tiles_.end()) {
        block.ops.push_back(std::move(op));
      } else if (const auto ring = ringOf_.find(*tile); ring != ringOf_.end()) {
        takeSlot(*op, ring->second, block);
        block.ops.push_back(std::move(op));
      } else {
        forget(*kernel_, *op);
      }
    }
    body_.ops = std::move(block.ops);
    walk(body_, [&](Op &op) { replaced.applyTo(op); });
  }

  void takeSlot(Op &load, ValueId ring, Block &block) {
    Builder to(*kernel_, block);
    to.setLocation(load.where);
    const ValueId slot = takeStoredSlot(to, ring);
    load.kind = OpKind::SharedLoad;
    load.operands = {slot};
    load.attributes = NoneAttrs{};
  }

  Kernel *kernel_;
  const machine::Machine &machine_;
  Op &loop_;
  Block &body_;
  const LoopLoads &loads_;
  const bool isStoredBehind_ = loop_.attrs<ForAttrs>().turns > 0 &&
                               loads_.areAll(Ahead::Stores); // what a trip reads
  TripWriter trips_;
  Block newRings_;
  std::vector<ValueId> rings_;        // by stored tile
  std::map<ValueId, ValueId> ringOf_; // by the tile that is stored there
  std::vector<ValueId> tiles_;        // that the loads make
  std::vector<ValueId> carried_;      // these, and what their addresses are made of
};

} // namespace

std::vector<ValueId> stageLoads(Kernel &kernel, Block &block, std::size_t loop,
                                const LoopLoads &loads, const machine::Machine &machine,
                                std::vector<ValueId> rings) {
  Stager stager(kernel, *block.ops[loop], loads, machine, std::move(rings));
  moveInto(block, loop, stager.run());
  moveInto(kernel.body(), 0, stager.takeNewRings());
  return stager.takeRings();
}

std::string tooManyRegisters(const Kernel &kernel, const LoopLoads &loads,
                             const machine::Machine &machine) {
  if (machine.maxRegistersPerThread == 0) return ""; // it does not count them
  // What a trip computes needs most of them.
  constexpr std::int64_t kShare = 4;
  const std::int64_t all = machine::registersOfThread(machine, kernel.threads().count());
  std::int64_t words = 0;
  for (const AheadLoad &load : loads.loads) {
    const LayoutId layout = kernel.layoutOf(load.op->result());
    if (layout.valid())
      words += layouts::wordsOf(kernel.type(load.op->result()), kernel.layout(layout));
  }
  if (words <= all / kShare) return "";
  return "its tiles fill " + std::to_string(words) + " of the " + std::to_string(all) +
         " registers of a thread";
}

} // namespace imbrex::passes::pipeline
