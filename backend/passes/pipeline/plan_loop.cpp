#include "backend/passes/pipeline/plan_loop.h"

#include "backend/analysis/behind_rings.h"
#include "backend/analysis/movement.h"
#include "backend/ir/products.h"
#include "backend/ir/ring_bytes.h"
#include "backend/layout/conversion.h"
#include "backend/passes/layouts/fragments.h"
#include "backend/schedule/plan/plan.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;

std::int64_t tileBytes(const Kernel &kernel, ValueId tile) {
  const Type &type = kernel.type(tile);
  if (!kernel.layoutOf(tile).valid()) return 0;
  const std::int64_t bits = type.isTile() ? storageBits(type.element()) : 64;
  return (bits << kernel.layout(kernel.layoutOf(tile)).outputBits()) / 8;
}

/// A product leaves those operands alone that lie in shared memory, or in the registers that it
/// wants them in; others may come to these within warps.
bool needsNoExchange(const Kernel &kernel, const machine::Machine &machine, const Op &dot,
                     std::size_t operand) {
  const ValueId tile = dot.operand(operand);
  if (kernel.type(tile).isShared()) return true;
  if (dot.kind != OpKind::Dot || !isOnUnit(dot)) return false;
  const layout::LinearLayout &sums = kernel.layout(kernel.layoutOf(dot.result()));
  const layouts::Fragments fragments = layouts::fragmentsOf(kernel, dot, operand, machine, sums);
  const layout::LinearLayout &held = kernel.layout(kernel.layoutOf(tile));
  return areHeld(fragments, held) ||
         comeWithinWarps(fragments, held, storageBits(kernel.type(tile).element()));
}

/// Whose users read it there as they want it (apply_plans.h).
bool willLieInSlot(const Kernel &kernel, ValueId tile) {
  const Op *load = kernel.definition(tile);
  if (!load || !isLoad(*load)) return false;
  return aheadOf(*load) == Ahead::Boxes || aheadOf(*load) == Ahead::Copies;
}

/// What an op would take of shared memory at most if it moved its tiles through it at once.
std::int64_t exchangeBytes(const Kernel &kernel, const machine::Machine &machine, const Op &op,
                           const std::set<ValueId> &inPlace) {
  if (isProduct(op)) {
    std::int64_t bytes = 0;
    for (const std::size_t i : {0, 1})
      if (!inPlace.contains(op.operand(i)) && !needsNoExchange(kernel, machine, op, i))
        bytes += 2 * tileBytes(kernel, op.operand(i));
    std::int64_t ofScales = 0; // which pass before the operands, both at once
    for (const std::size_t i : {0, 1})
      if (const auto scale = scaleOf(op, i); scale && !kernel.type(op.operand(*scale)).isShared() &&
                                             !inPlace.contains(op.operand(*scale)))
        ofScales += 2 * tileBytes(kernel, op.operand(*scale));
    return std::max(bytes, ofScales);
  }
  if (op.kind == OpKind::ConvertLayout && willLieInSlot(kernel, op.operand(0))) return 0;
  if (llvm::any_of(op.results, [&](ValueId result) { return inPlace.contains(result); })) return 0;
  std::int64_t most = 0;
  for (const ValueId operand : op.operands) most = std::max(most, tileBytes(kernel, operand));
  return most;
}

constexpr std::array kExchanging{OpKind::ConvertLayout, OpKind::Dot,       OpKind::DotScaled,
                                 OpKind::Reduce,        OpKind::Scan,      OpKind::Sort,
                                 OpKind::Gather,        OpKind::Histogram, OpKind::Concat};
constexpr std::array kMoving{OpKind::Slice, OpKind::Flip, OpKind::Reshape};

/// Along an axis that no warp has parts of, elements stay in their warps: there are shuffles.
bool staysInWarps(const Kernel &kernel, const Op &op) {
  std::int32_t axis = 0;
  if (op.kind == OpKind::Reduce)
    axis = op.attrs<ReduceAttrs>().axis;
  else if (op.kind == OpKind::Scan)
    axis = op.attrs<ScanAttrs>().axis;
  else
    return false;
  const layout::LinearLayout &held = kernel.layout(kernel.layoutOf(op.operand(0)));
  const layout::Bits warps = layout::unionOf(held.columns(layout::Dim::Warp));
  return held.outputPart(warps, layout::axisDim(axis)) == 0;
}

/// A move of bits within the coordinates is done by the layouts (assign-layouts); by an offset, or
/// by arithmetic on coordinates, elements change threads (lower/ops/emit_movement.cpp).
bool exchanges(const Kernel &kernel, const Op &op) {
  if (llvm::is_contained(kExchanging, op.kind)) return !staysInWarps(kernel, op);
  if (!llvm::is_contained(kMoving, op.kind)) return false;
  const auto movement = analysis::movementOf(kernel, op, 0, 0);
  return !movement || movement->offset != layout::Bits{0};
}

/// Of all loads of a trip.
std::int64_t bytesOfSlot(const Kernel &kernel, const LoopLoads &loads) {
  std::int64_t bytes = 0;
  for (const AheadLoad &load : loads.loads) {
    const ValueId tile = load.op->result();
    bytes += slotBytes(kernel.type(tile), kernel.layout(kernel.layoutOf(tile)));
  }
  return bytes;
}

/// A slot of boxes has a barrier that says that it is full, and where a role of its own loads them
/// one that says that it is empty.
std::int64_t barrierBytes(const LoopLoads &loads, bool hasLoader) {
  return loads.has(Ahead::Boxes) ? (hasLoader ? 2 : 1) * machine::kBarrierBytes : 0;
}

/// How the room is divided, for people.
std::string inWords(const RingRoom &room, std::int64_t bytes) {
  return "slots of " + std::to_string(bytes) + " bytes; a block has " + std::to_string(room.bytes) +
         " for them, beside " + std::to_string(room.exchange) + " for exchanges between threads";
}

/// Where each copy is counted: how many of a warp's are in flight, if so many slow it down.
std::string manyInFlight(const Kernel &kernel, const machine::AsyncCopies &copies,
                         std::int64_t slots, std::int64_t bytes) {
  const std::int64_t ofSlot = bytes / (std::int64_t{copies.mostBytes} * kernel.threads().count());
  const std::int64_t inFlight = (slots - 1) * ofSlot;
  if (copies.stallsFrom == 0 || inFlight < copies.stallsFrom) return "";
  return "  up to " + std::to_string(inFlight) + " loads of a warp are in flight: warps were seen" +
         " to stall from " + std::to_string(copies.stallsFrom) + " on\n";
}

/// Slots that copies can run ahead with. Whether a trip comes is asked of a distance in the index's
/// own type, without a sign: further than that counts, nobody could say (read_condition.h reads
/// numbers of 63 bits).
std::int64_t slotsOfIndex(const Kernel &kernel, const Op &loop) {
  const std::int32_t bits = storageBits(kernel.type(loop.operand(2)).element());
  const std::uint64_t furthest = llvm::maxUIntN(static_cast<std::uint64_t>(std::min(bits, 63)));
  const std::int64_t trips =
      static_cast<std::int64_t>(furthest) / *constantInteger(kernel, loop.operand(2));
  return std::min<std::int64_t>(trips, kMostSlots - 1) + 1;
}

/// Where copies in lane order go that nobody wants, beside all rings (lower/memory/shared_ring.h).
std::int64_t unreadBytes(const Kernel &kernel, const machine::Machine &machine) {
  const machine::AsyncCopies &copies = machine.asyncCopies;
  return copies.areInLaneOrder ? std::int64_t{copies.mostBytes} * kernel.threads().count() : 0;
}

constexpr std::array kWithinThreads{OpKind::For,      OpKind::Yield, OpKind::Constant,
                                    OpKind::ViewLoad, OpKind::Cast,  OpKind::Arange};

/// Whether each thread holds all that it wants of a move's operand.
bool movesInThreads(const Kernel &kernel, const Op &op) {
  const auto movement = analysis::movementOf(kernel, op, 0, 0);
  if (!movement || movement->offset != layout::Bits{0}) return false;
  const LayoutId from = kernel.layoutOf(op.operand(0)), to = kernel.layoutOf(op.result());
  if (!from.valid() || !to.valid()) return !from.valid();
  return layout::staysInThreads(
      planConversion(kernel.layout(from), wantedLayout(*movement, kernel.layout(to))));
}

/// Whether no shared memory is needed for an op, whatever it is lowered to: of scalars, a load,
/// what is done element by element or within warps, and a product of tiles that lie in slots.
bool needsNoSharedMemory(const Kernel &kernel, const machine::Machine &machine, const Op &op,
                         const std::set<ValueId> &inPlace) {
  if (llvm::is_contained(kWithinThreads, op.kind) || isElementwise(op.kind)) return true;
  if (op.kind == OpKind::Reduce) return staysInWarps(kernel, op);
  if (op.kind == OpKind::Reshape || op.kind == OpKind::Broadcast || op.kind == OpKind::Permute)
    return kernel.type(op.operand(0)).isShared() || movesInThreads(kernel, op);
  if (isProduct(op)) return isOnUnit(op) && exchangeBytes(kernel, machine, op, inPlace) == 0;
  if (op.kind == OpKind::RingNew || (!op.operands.empty() && kernel.type(op.operand(0)).isRing()))
    return true; // these have slots of their own
  const auto isNoTile = [&](ValueId value) { return !kernel.layoutOf(value).valid(); };
  return llvm::all_of(
             op.results,
             [&](ValueId result) { return isNoTile(result) || inPlace.contains(result); }) &&
         (!op.results.empty() || llvm::all_of(op.operands, isNoTile));
}

/// What has room where slots were.
std::set<const Op *> opsBehindRings(const Kernel &kernel) {
  std::set<const Op *> ops;
  const Op *const last = analysis::lastUseOfRings(kernel);
  if (!last) return ops;
  for (const auto &op : llvm::reverse(kernel.body().ops)) {
    if (op.get() == last) break;
    ops.insert(op.get());
    for (const Block &region : op->regions)
      walk(region, [&](const Op &inner) { ops.insert(&inner); });
  }
  return ops;
}

} // namespace

RingRoom ringRoom(const Kernel &kernel, const machine::Machine &machine, const TakenRoom &taken) {
  const std::int64_t limit = machine.sharedMemoryBytes;
  // What exchanges take can be cut into rounds, at the price of time.
  constexpr std::int64_t kLargestShare = 3;
  const std::int64_t least = leastExchangeBytes(kernel);
  std::int64_t exchange = 0, rings = taken.bytes + unreadBytes(kernel, machine);
  const std::set<const Op *> behind = opsBehindRings(kernel);
  walk(kernel.body(), [&](const Op &op) {
    const bool isBefore = !behind.contains(&op);
    if (isBefore && !needsNoSharedMemory(kernel, machine, op, taken.inPlace))
      exchange = std::max(exchange, least);
    if (isBefore && exchanges(kernel, op))
      exchange = std::max(exchange, exchangeBytes(kernel, machine, op, taken.inPlace));
    if (op.kind == OpKind::RingNew)
      rings += op.attrs<RingAttrs>().slots * slotBytes(kernel, op.result());
    if (op.kind == OpKind::BarrierNew)
      rings += op.attrs<BarrierAttrs>().slots * machine::kBarrierBytes;
  });
  // Lowering takes no more (Emitter::scratchBytes).
  const std::int64_t wanted = std::min<std::int64_t>(exchange, machine.staticSharedMemoryBytes);
  const std::int64_t share =
      exchange > 0 ? std::max(least, std::min(wanted, limit / kLargestShare)) : 0;
  return {.bytes = limit - share - rings,
          .limit = limit,
          .exchange = share,
          .wantedExchange = std::max(wanted, share)};
}

std::int64_t bytesOf(const Kernel &kernel, const LoopLoads &loads, const LoopChoice &choice) {
  return choice.slots * (bytesOfSlot(kernel, loads) + barrierBytes(loads, choice.hasLoader));
}

namespace {

class SlotPlanner {
public:
  SlotPlanner(const Kernel &kernel, const Op &loop, const LoopLoads &loads, bool hasLoader,
              const RingRoom &room, const PassContext &context)
      : kernel_(kernel), loop_(loop), loads_(loads), hasLoader_(hasLoader), room_(room),
        context_(context), bytes_(bytesOfSlot(kernel, loads)),
        fitting_(room.bytes / (bytes_ + barrierBytes(loads, hasLoader))),
        ahead_(hasLoader ? fitting_ : slotsOfIndex(kernel, loop)) {}

  std::optional<PlannedSlots> run(std::string &why) {
    if (room_.slots < 2)
      why = "no proof was found of its slots and those of the other loops";
    else if (fitting_ < 2)
      why = "there is no room for two " + inWords(room_, bytes_);
    if (!why.empty()) return std::nullopt;
    most_ = static_cast<std::int32_t>(std::min({fitting_, ahead_, std::int64_t{room_.slots}}));
    const bool isChosen = asked() == ForAttrs::kPlannerChooses;
    PlannedSlots planned{.slots = std::min(asked(), most_)};
    if ((isChosen || context_.explanation) && !compare(isChosen, planned)) return std::nullopt;
    if (planned.slots > 1) return planned;
    why = "no second slot would make it faster";
    return std::nullopt;
  }

private:
  std::int32_t asked() const { return loop_.attrs<ForAttrs>().pipelined; }

  /// Times the loop: with as many slots as pay, or with those that were asked for, so that it can
  /// be told how it does. False, and errors, where the loop's work is none that can be planned.
  bool compare(bool isChosen, PlannedSlots &planned) const {
    const LoopWork work = workOf(kernel_, loop_, loads_, hasLoader_, context_.machine);
    machine::Machine machine = context_.machine;
    machine.sharedMemoryBytes = static_cast<std::int32_t>(room_.bytes);
    schedule::PlanRequest request{.machine = machine,
                                  .loop = work.trips,
                                  .trips =
                                      std::vector(work.program.trips.size(), kUsualTripsAround),
                                  .slots = isChosen ? std::nullopt : std::optional(planned.slots),
                                  .warps = work.program.roles.front().warps};
    request.trips.back() = kUsualTrips;
    auto plan = planSchedule(work.program, request, context_.diagnostics);
    if (plan && plan->taken().slots > most_) {
      request.slots = most_;
      plan = planSchedule(work.program, request, context_.diagnostics);
    }
    if (!plan) return false;
    planned.slots = plan->taken().slots;
    if (context_.explanation)
      planned.explanation =
          "  " + inWords(room_, bytes_) + whyFewer() + "\n" +
          manyInFlight(kernel_, context_.machine.asyncCopies, planned.slots, bytes_) +
          explain(*plan, request);
    return true;
  }

  std::string whyFewer() const {
    if (asked() <= most_) return "";
    return ": " + std::to_string(asked()) +
           (most_ == ForAttrs::kMostSlots
                ? " are more than are taken: the code that starts them has a part for each"
            : most_ == room_.slots
                ? " are more than could be proven beside those of the other loops"
            : ahead_ < fitting_ ? " are more than the loop's index can count ahead"
                                : " do not fit");
  }

  const Kernel &kernel_;
  const Op &loop_;
  const LoopLoads &loads_;
  const bool hasLoader_;
  const RingRoom &room_;
  const PassContext &context_;
  const std::int64_t bytes_, fitting_, ahead_;
  std::int32_t most_ = 0;
};

} // namespace

std::optional<PlannedSlots> planSlots(const Kernel &kernel, const Op &loop, const LoopLoads &loads,
                                      bool hasLoader, const RingRoom &room,
                                      const PassContext &context, std::string &why) {
  return SlotPlanner(kernel, loop, loads, hasLoader, room, context).run(why);
}

} // namespace imbrex::passes::pipeline
