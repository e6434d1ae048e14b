#include "backend/passes/pipeline/apply_order.h"

#include "backend/ir/shared_tiles.h"
#include "backend/layout/box_layout.h"
#include "backend/passes/pipeline/trip_writer.h"
#include "backend/passes/rewriting.h"
#include "backend/support/check.h"

#include <utility>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;
using schedule::ScheduleOp;
using schedule::ScheduleOpKind;
using Measure = schedule::Guard::Measure;

class Applier {
public:
  Applier(Kernel &kernel, Block &block, std::size_t loop, const LoopLoads &loads,
          const LoopOrder &order, std::vector<ValueId> rings)
      : kernel_(&kernel), block_(&block), at_(loop), loop_(block.ops[loop].get()),
        body_(&loop_->regions[0]), loads_(loads), order_(order), trips_(kernel, *loop_, loads),
        rings_(std::move(rings)) {
    for (const auto &op : body_->ops) bodyOps_.push_back(op.get());
  }

  std::vector<ValueId> run() {
    if (rings_.empty()) makeRings();
    Block before;
    if (order_.isOfRoles()) {
      writeRoles();
    } else {
      writeBefore(before);
      writeBody();
    }
    moveInto(*block_, at_, std::move(before));
    return std::move(rings_);
  }

private:
  // --- the order ---

  /// The body that the loop is in: the role's, or that of a loop around.
  const std::vector<ScheduleOp> &plannedAround(std::size_t role = 0) const {
    const std::vector<ScheduleOp> *ops = &order_.program.roles[role].body;
    while (!isPlannedLoop(ops->back())) ops = &ops->back().body;
    return *ops;
  }
  bool isPlannedLoop(const ScheduleOp &op) const {
    return op.kind == ScheduleOpKind::For && op.trips == order_.trips;
  }

  /// What orders copies.
  void write(const ScheduleOp &op, Builder &to) {
    to.setLocation(op.where.known() ? op.where : loop_->where);
    switch (op.kind) {
    case ScheduleOpKind::Commit: return void(to.create(OpKind::RingCommit, {}, {}));
    case ScheduleOpKind::Drain:
      return void(to.create(OpKind::RingDrain, {}, {}, CountAttrs{.count = op.count}));
    case ScheduleOpKind::Meet: return void(to.create(OpKind::Meet, {}, {}));
    case ScheduleOpKind::Advance: return; // a ring goes on by itself
    case ScheduleOpKind::Wait:
      return void(
          to.create(OpKind::BarrierWait, barrier(op), {}, WaitAttrs{.flipped = op.flipped}));
    case ScheduleOpKind::Arrive: return void(to.create(OpKind::BarrierArrive, barrier(op), {}));
    case ScheduleOpKind::Expect:
      return void(to.create(OpKind::BarrierExpect, barrier(op), {}, BytesAttrs{.bytes = op.bytes}));
    case ScheduleOpKind::Copy:
    case ScheduleOpKind::Issue:
    case ScheduleOpKind::If:
    case ScheduleOpKind::Access:
    case ScheduleOpKind::Signal:
    case ScheduleOpKind::Fence:
    case ScheduleOpKind::Init:
    case ScheduleOpKind::Reset:
    case ScheduleOpKind::For: break;
    }
    IMBREX_UNREACHABLE("a plan of a loop has '{0}'", info(op.kind).mnemonic);
  }

  ValueId barrier(const ScheduleOp &op) const { return barriers_[op.barrier.index()]; }

  // --- rings ---

  void makeRings() {
    Block made;
    Builder builder(*kernel_, made);
    for (const AheadLoad &load : loads_.loads) {
      const ValueId tile = load.op->result();
      builder.setLocation(load.op->where);
      Op &ring = builder.create(OpKind::RingNew, {}, {Type::ring(kernel_->type(tile))},
                                RingAttrs{.slots = order_.slots, .by = load.by});
      kernel_->setLayout(ring.result(), kernel_->layoutOf(tile));
      rings_.push_back(ring.result());
    }
    builder.setLocation(loop_->where);
    for (const schedule::Barrier &planned : order_.program.barriers)
      barriers_.push_back(
          builder
              .create(OpKind::BarrierNew, {}, {Type::barrier()},
                      BarrierAttrs{.slots = order_.slots, .arrivals = arrivalsOf(planned)})
              .result());
    if (block_ == &kernel_->body()) at_ += made.ops.size();
    moveInto(kernel_->body(), 0, std::move(made));
  }

  /// A plan takes one warp for two, which are so many agents; the kernel has as many as it has.
  std::int32_t arrivalsOf(const schedule::Barrier &planned) const {
    const std::int32_t agents = order_.program.roles.back().warps;
    const bool isOfAll = order_.isOfRoles() && planned.arrivals == agents;
    return isOfAll ? kernel_->threads().warps : planned.arrivals;
  }

  void load(Builder &to, const ScheduleOp &planned, const Renamed &names) {
    const std::size_t load = planned.accesses.front().buffer.index();
    const Op &op = *loads_.loads[load].op;
    llvm::SmallVector<ValueId, 8> operands{rings_[load], barrier(planned)};
    operands.append(renamed(op.operands, names));
    to.setLocation(op.where);
    to.create(OpKind::RingLoadBox, operands, {}, BoxAttrs{.unit = op.attrs<ViewAttrs>().unit});
  }

  /// Start the loads of a trip that may not come: what the engine brings, behind a condition, then
  /// the threads' own copies, each with its own.
  void start(Builder &to, const ScheduleOp &trip, ValueId distance, const Renamed &names) {
    if (loads_.has(Ahead::Boxes)) loadIf(to, trip, distance, names);
    for (const ScheduleOp &op : trip.body) {
      if (op.kind != ScheduleOpKind::Issue) continue;
      to.setLocation(op.where.known() ? op.where : loop_->where);
      copy(to, op, trips_.isMore(to, distance, trip.guard.than), names);
    }
  }

  void loadIf(Builder &to, const ScheduleOp &trip, ValueId distance, const Renamed &names) {
    const ValueId comes = trips_.isMore(to, distance, trip.guard.than);
    to.setLocation(loop_->where);
    Op &branch = to.create(OpKind::If, {comes}, {});
    branch.regions.resize(2);
    Builder there(*kernel_, branch.regions[0]), none(*kernel_, branch.regions[1]);
    for (const ScheduleOp &op : trip.body)
      if (op.kind != ScheduleOpKind::Issue) writeRole(there, op, names);
    there.setLocation(loop_->where);
    none.setLocation(loop_->where);
    there.create(OpKind::Yield, {}, {});
    none.create(OpKind::Yield, {}, {});
  }

  /// What one of the threads does for all.
  void writeRole(Builder &to, const ScheduleOp &op, const Renamed &names) {
    if (op.kind == ScheduleOpKind::Copy)
      load(to, op, names);
    else
      write(op, to);
  }

  void copy(Builder &to, const ScheduleOp &planned, ValueId condition, const Renamed &names) {
    const std::size_t load = planned.accesses.front().buffer.index();
    const Op &op = *loads_.loads[load].op;
    const std::int32_t width = loads_.loads[load].width;
    llvm::SmallVector<ValueId, 8> operands{rings_[load], condition};
    const bool isBox = op.kind == OpKind::ViewLoad;
    const std::size_t count =
        isBox ? 1 + static_cast<std::size_t>(kernel_->type(op.operand(0)).rank()) : 2;
    operands.append(renamed(llvm::ArrayRef(op.operands).take_front(count), names));
    to.setLocation(op.where);
    if (isBox)
      to.create(OpKind::RingCopyBox, operands, {},
                RingCopyBoxAttrs{.unit = op.attrs<ViewAttrs>().unit, .width = width});
    else
      to.create(OpKind::RingCopy, operands, {}, RingCopyAttrs{.width = width});
  }

  // --- in front of the loop ---

  void writeBefore(Block &block) {
    Builder to(*kernel_, block);
    to.setLocation(loop_->where);
    const ValueId low = loop_->operand(0), all = trips_.wholeDistance(to);
    std::int64_t trip = 0;
    Renamed names = trips_.enter(to, low, trips_.first());
    for (const ScheduleOp &op : plannedAround()) {
      if (isPlannedLoop(op)) break;
      if (op.kind != ScheduleOpKind::If) {
        write(op, to);
        continue;
      }
      start(to, op, all, names); // one for each trip
      const std::vector<ValueId> carried = trips_.next(to, names);
      names = trips_.enter(to, trips_.ahead(to, low, ++trip), carried);
    }
    IMBREX_CHECK(trip == order_.slots - 1, "a plan for {0} slots starts {1} trips", order_.slots,
                 trip);
    for (const std::size_t carried : loads_.carried)
      loop_->operands.push_back(names.at(body_->arguments[firstCarriedArgument(*loop_) + carried]));
  }

  // --- the loop ---

  void writeBody() {
    const std::vector<ValueId> carried = addCarried(*kernel_, *loop_, trips_.present());
    Block block;
    Builder to(*kernel_, block);
    to.setLocation(loop_->where);
    const ValueId index = body_->arguments[0];
    const ValueId left = trips_.distanceFrom(to, index);
    Renamed names = trips_.enter(to, trips_.ahead(to, index, order_.slots - 1), carried);
    const std::vector<ValueId> next = trips_.next(to, names);
    for (const ScheduleOp &op : plannedAround().back().body) {
      if (op.kind == ScheduleOpKind::Access)
        read(op.accesses.front().buffer.index(), block);
      else if (op.kind == ScheduleOpKind::If)
        start(to, op, left, names);
      else
        write(op, to);
    }
    moveRest(block, bodyOps_.size());
    Op &yield = yieldOf(block);
    yield.operands.append(next.begin(), next.end());
    body_->ops = std::move(block.ops);
  }

  /// What the role that loads does in a trip, then what the other does. Each has its rings where
  /// the trip has: none runs ahead within the loop.
  void writeRoles() {
    Block block;
    Builder to(*kernel_, block);
    to.setLocation(loop_->where);
    const Renamed names = trips_.enter(to, body_->arguments[0], trips_.present());
    for (const ScheduleOp &op : plannedAround().back().body) writeRole(to, op, names);
    constexpr std::size_t kComputes = 1;
    for (const ScheduleOp &op : plannedAround(kComputes).back().body)
      if (op.kind == ScheduleOpKind::Access)
        read(op.accesses.front().buffer.index(), block);
      else
        write(op, to);
    moveRest(block, bodyOps_.size());
    body_->ops = std::move(block.ops);
  }

  /// What stands in front of a load, and in its place the tile of the ring's slot, whose layout is
  /// chosen later (read_in_place.h).
  void read(std::size_t load, Block &block) {
    const Op &op = *loads_.loads[load].op;
    std::size_t place = moved_;
    while (bodyOps_[place] != &op) ++place;
    moveRest(block, place);
    Op &taken = *body_->ops[moved_++];
    const Type &tile = kernel_->type(taken.result());
    Builder to(*kernel_, block);
    to.setLocation(taken.where);
    const ValueId slot = to.create(OpKind::RingSlot, {rings_[load]}, {Type::shared(tile)}).result();
    kernel_->setLayout(slot, kernel_->addLayout(firstLayout(tile, loads_.loads[load].by)));
    taken.kind = OpKind::SharedLoad;
    taken.operands = {slot};
    taken.attributes = NoneAttrs{};
    block.ops.push_back(std::move(body_->ops[moved_ - 1]));
  }

  /// Until place-slots chooses another, where there is a choice.
  static layout::LinearLayout firstLayout(const Type &tile, Ahead by) {
    return by == Ahead::Boxes
               ? layout::planBoxes(tile.shape().extents(), storageBits(tile.element()) / 8)->shared
               : inRows(tile.shape());
  }

  void moveRest(Block &block, std::size_t end) {
    for (; moved_ < end; ++moved_) block.ops.push_back(std::move(body_->ops[moved_]));
  }

  Kernel *kernel_;
  Block *block_;
  std::size_t at_; // where the loop is in its block
  Op *loop_;
  Block *body_;
  const LoopLoads &loads_;
  const LoopOrder &order_;
  TripWriter trips_;
  std::vector<ValueId> rings_;      // by load
  std::vector<ValueId> barriers_;   // by the order's
  std::vector<const Op *> bodyOps_; // as they stood
  std::size_t moved_ = 0;           // of these: into the new body
};

} // namespace

std::vector<ValueId> applyOrder(Kernel &kernel, Block &block, std::size_t loop,
                                const LoopLoads &loads, const LoopOrder &order,
                                std::vector<ValueId> rings) {
  return Applier(kernel, block, loop, loads, order, std::move(rings)).run();
}

} // namespace imbrex::passes::pipeline
