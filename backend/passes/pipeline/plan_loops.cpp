#include "backend/passes/pipeline/plan_loops.h"

#include "backend/analysis/names_in_products.h"
#include "backend/ir/products.h"
#include "backend/ir/ring_bytes.h"
#include "backend/layout/box_layout.h"
#include "backend/passes/pipeline/join_orders.h"
#include "backend/passes/pipeline/plan_loop.h"
#include "backend/passes/pipeline/plan_turns.h"
#include "backend/passes/pipeline/refill_rings.h"
#include "backend/passes/pipeline/stage_loads.h"
#include "backend/passes/pipeline/why_no_loader.h"
#include "backend/schedule/check/check.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;

struct PlannedLoop {
  Op *loop;
  LoopLoads loads = {};  ///< Into rings.
  LoopLoads staged = {}; ///< In registers.
  LoopChoice choice = {.slots = 0, .hasLoader = false};
  std::int32_t turns = 0;      ///< Parts of k (ForAttrs).
  const Op *refills = nullptr; ///< The loop whose rings it fills again (refill_rings.h).
  std::string explanation = {};

  bool hasRings() const { return choice.slots > ForAttrs::kInRegisters; }
};

/// What plans may use: rings of so many slots, and a role of its own for loads.
struct Limits {
  std::int32_t slots = ForAttrs::kMostSlots;
  bool mayHaveLoader = true;

  bool allow(const std::vector<PlannedLoop> &loops) const {
    return llvm::all_of(loops, [&](const PlannedLoop &planned) {
      return planned.choice.slots <= slots && (mayHaveLoader || !planned.choice.hasLoader);
    });
  }
};

/// Plans all loops of a kernel within the same limits.
class LoopsPlanner {
public:
  LoopsPlanner(const Kernel &kernel, const std::vector<Op *> &loops, const PassContext &context,
               const Limits &limits)
      : kernel_(kernel), loops_(loops), context_(context), limits_(limits) {}

  std::vector<PlannedLoop> run() {
    decideOnLoader();
    for (Op *loop : loops_) planned_.push_back(plan(*loop));
    return std::move(planned_);
  }

private:
  /// Whether the kernel gets a role of its own for all that the engine loads: for all or for none,
  /// as it has but one body that can be taken apart.
  void decideOnLoader() {
    std::vector<const Op *> loops;
    std::vector<LoopLoads> loads;
    for (const Op *loop : loops_) {
      LoopLoads ahead = loadsOfRings(kernel_, *loop);
      if (!ahead.has(Ahead::Boxes)) continue;
      loops.push_back(loop);
      loads.push_back(std::move(ahead));
    }
    const bool areMixed =
        llvm::any_of(loads, [](const LoopLoads &of) { return !of.areAll(Ahead::Boxes); });
    whyNoLoader_ = areMixed ? "a loop also has copies that are the threads' own"
                            : whyNoLoader(kernel_, loops, loads, context_.machine);
    if (!limits_.mayHaveLoader && whyNoLoader_.empty())
      whyNoLoader_ = "no proof was found of a role of its own beside all loops";
  }

  PlannedLoop plan(Op &loop) {
    PlannedLoop planned{.loop = &loop};
    const bool hasLoads =
        llvm::any_of(loop.regions[0].ops, [](const auto &op) { return isLoad(*op); });
    std::string why = loop.attrs<ForAttrs>().pipelined == 1 ? "one slot lets nothing overlap"
                      : hasLoads                            ? ""
                                                            : "it has no loads of its own";
    if (why.empty()) planRings(planned, why);
    if (hasLoads) planStaging(planned, why);
    if (planned.choice.slots > 0) planHalves(planned);
    if (context_.explanation) explain(planned, why);
    return planned;
  }

  void planRings(PlannedLoop &planned, std::string &why) {
    LoopLoads loads = loadsOfRings(kernel_, *planned.loop);
    if (loads.loads.empty() || planRefill(planned, loads)) return;
    TakenRoom taken = takenWith(loads);
    RingRoom room = ringRoom(kernel_, context_.machine, taken);
    room.slots = limits_.slots;
    const bool hasLoader = loads.has(Ahead::Boxes) && whyNoLoader_.empty();
    auto slots = planSlots(kernel_, *planned.loop, loads, hasLoader, room, context_, why);
    if (!slots) return;
    planned.choice = {.slots = slots->slots, .hasLoader = hasLoader};
    planned.explanation = std::move(slots->explanation);
    planned.loads = std::move(loads);
    taken.bytes += ringBytes(planned);
    taken_ = std::move(taken);
  }

  /// In the slots of a loop in front of it, where it would have as many of its own.
  bool planRefill(PlannedLoop &planned, LoopLoads &loads) {
    const PlannedLoop *const first = refillable(*planned.loop, loads);
    if (!first) return false;
    TakenRoom taken = takenWith(loads);
    taken.bytes -= ringBytes(*first);
    RingRoom room = ringRoom(kernel_, context_.machine, taken);
    room.slots = first->choice.slots;
    std::string why;
    constexpr bool kHasLoader = false;
    auto slots = planSlots(kernel_, *planned.loop, loads, kHasLoader, room, context_, why);
    if (!slots || slots->slots != first->choice.slots) return false;
    planned.choice = first->choice;
    planned.refills = first->loop;
    planned.explanation = std::move(slots->explanation);
    planned.loads = std::move(loads);
    taken.bytes += ringBytes(*first);
    taken_ = std::move(taken);
    return true;
  }

  const PlannedLoop *refillable(const Op &loop, const LoopLoads &loads) const {
    const auto suits = [&](const PlannedLoop &first) {
      const LoopLoads &its = first.hasRings() ? first.loads : first.staged;
      return !first.refills && askedOf(*first.loop) == askedOf(loop) &&
             canRefill(kernel_, *first.loop, its, loop, loads);
    };
    const auto first = llvm::find_if(planned_, suits);
    return first == planned_.end() ? nullptr : &*first;
  }

  static std::int32_t askedOf(const Op &loop) { return loop.attrs<ForAttrs>().pipelined; }

  TakenRoom takenWith(const LoopLoads &loads) const {
    TakenRoom taken = taken_;
    taken.inPlace.insert(loads.inPlace.begin(), loads.inPlace.end());
    return taken;
  }

  std::int64_t ringBytes(const PlannedLoop &planned) const {
    return bytesOf(kernel_, planned.loads, planned.choice);
  }

  /// What copies cannot bring, registers can; and all of a loop, where copies would be in the order
  /// of lanes and have come to nothing.
  void planStaging(PlannedLoop &planned, std::string &why) {
    const bool isOfAll = !planned.hasRings() && context_.machine.asyncCopies.areInLaneOrder;
    const std::array ways{Ahead::Registers, Ahead::Copies};
    LoopLoads loads =
        loadsAhead(kernel_, *planned.loop, llvm::ArrayRef(ways).take_front(isOfAll ? 2 : 1));
    for (AheadLoad &load : loads.loads) load.by = Ahead::Registers;
    if (loads.loads.empty()) return;
    std::string tooMany = tooManyRegisters(kernel_, loads, context_.machine);
    if (!tooMany.empty()) {
      if (planned.hasRings())
        planned.explanation += "  what is not copied stays, for " + tooMany + "\n";
      else
        why = std::move(tooMany);
      return;
    }
    if (!planned.hasRings()) planStores(planned, loads); // a loop with rings has its meetings
    if (!why.empty()) planned.explanation += "  nothing is copied: " + why + "\n";
    planned.staged = std::move(loads);
    if (!planned.hasRings()) planned.choice = {ForAttrs::kInRegisters, false};
  }

  void planHalves(PlannedLoop &planned) const {
    std::string why;
    const LoopLoads &loads = planned.hasRings() ? planned.loads : planned.staged;
    const auto turns =
        planTurns(kernel_, *planned.loop, loads, planned.choice.slots, context_.machine, why);
    if (turns) {
      planned.turns = turns->parts;
      planned.explanation += turns->explanation;
    } else if (machine::mayBeApart(context_.machine)) {
      planned.explanation += "  halves of the warps take no turns: " + why + "\n";
    }
  }

  /// Whether products multiply it under each of its names, and do not scale by it.
  bool isFactor(const std::set<ValueId> &names) const {
    const auto isNamed = [&](ValueId value) { return names.contains(value); };
    return !firstOp(kernel_.body(), [&](const Op &op) {
      return isProduct(op) && llvm::any_of(llvm::drop_begin(op.operands, 2), isNamed);
    });
  }

  /// As if the slots of a loop in front of it were free; with slots of its own, if it has others.
  void planStores(PlannedLoop &planned, LoopLoads &loads) {
    const TakenRoom taken = taken_;
    for (const PlannedLoop &first : planned_) {
      const std::int64_t bytes = storedBytes(first.staged);
      if (first.refills || bytes == 0) continue;
      LoopLoads stored = loads;
      taken_.bytes -= bytes;
      storeForProducts(stored);
      if (storedBytes(stored) == bytes &&
          canRefill(kernel_, *first.loop, first.staged, *planned.loop, stored)) {
        planned.refills = first.loop;
        loads = std::move(stored);
        return;
      }
      taken_ = taken;
    }
    storeForProducts(loads);
  }

  std::int64_t storedBytes(const LoopLoads &loads) const {
    std::int64_t bytes = 0;
    for (const AheadLoad &load : loads.loads)
      if (load.by == Ahead::Stores) bytes += bytesOfStored(load.op->result());
    return bytes;
  }
  std::int64_t bytesOfStored(ValueId tile) const {
    return slotBytes(kernel_.type(tile), kernel_.layout(kernel_.layoutOf(tile)));
  }

  /// What products alone read gets a slot, as long as there is room.
  void storeForProducts(LoopLoads &loads) {
    for (AheadLoad &load : loads.loads) {
      const ValueId tile = load.op->result();
      const auto names = analysis::namesInProducts(kernel_, tile);
      if (!names || !isFactor(*names) || sharesByte(kernel_.type(tile).element())) continue;
      TakenRoom taken = taken_;
      taken.inPlace.insert(names->begin(), names->end());
      taken.bytes += bytesOfStored(tile);
      if (ringRoom(kernel_, context_.machine, taken).bytes < 0) continue;
      load.by = Ahead::Stores;
      loads.inPlace.insert(names->begin(), names->end());
      taken_ = std::move(taken);
    }
  }

  // --- why ---

  void explain(PlannedLoop &planned, const std::string &why) const {
    const Op &loop = *planned.loop;
    std::string text = "pipelined 'for' at " + toText(loop.where) + ": ";
    if (planned.hasRings())
      text += std::to_string(planned.choice.slots) + " slots\n";
    else if (planned.choice.slots > 0)
      text += "one trip ahead in registers" + whyInRegisters() + "\n";
    else
      text += "as it is" + (why.empty() ? "" : ", for " + why) + "\n";
    for (const auto *loads : {&planned.loads, &planned.staged})
      for (const AheadLoad &load : loads->loads)
        text += "  " + namedLoad(kernel_, *load.op) + " runs ahead, in " + whatBrings(load) + "\n";
    if (planned.loads.has(Ahead::Boxes))
      text += whyNoLoader_.empty() ? "  by a role of its own\n"
                                   : "  by the threads that compute, for " + whyNoLoader_ + "\n";
    if (planned.refills)
      text +=
          "  in the slots of the loop at " + toText(planned.refills->where) + ", which is over\n";
    planned.explanation = text + planned.explanation;
  }

  std::string whyInRegisters() const {
    const machine::Machine &machine = context_.machine;
    if (machine.asyncCopies.leastBytes > 0) return ""; // study-loads or the slots' plan says why
    return ", for " + std::string(machine.name) + " has no asynchronous copies";
  }

  std::string whatBrings(const AheadLoad &load) const {
    const Type &type = kernel_.type(load.op->result());
    const std::int32_t bytes = storageBits(type.element()) / 8;
    if (load.by == Ahead::Registers) return "registers";
    if (load.by == Ahead::Stores) return "registers, and from there through a slot";
    if (load.by == Ahead::Copies)
      return "copies of " + std::to_string(load.width * bytes) + " bytes";
    const auto boxes = layout::planBoxes(type.shape().extents(), bytes);
    return "boxes of " + toString(Shape(boxes->box)) + " that the engine loads, " +
           (boxes->span > 0 ? "swizzled in " + std::to_string(boxes->span) + " bytes"
                            : "not swizzled");
  }

  const Kernel &kernel_;
  const std::vector<Op *> &loops_;
  const PassContext &context_;
  const Limits limits_;
  std::string whyNoLoader_; // of the kernel's boxes; empty: a role of its own loads them
  TakenRoom taken_;
  std::vector<PlannedLoop> planned_;
};

// --- how much may be tried ---

/// How many loops that are to be pipelined stand in each other.
std::size_t deepestNest(const Block &block) {
  std::size_t deepest = 0;
  for (const auto &op : block.ops)
    for (const Block &region : op->regions)
      deepest = std::max(deepest, deepestNest(region) + (isPipelined(*op) ? 1 : 0));
  return deepest;
}

/// More slots take a proof more than its share of a compilation, and soon more than it has, even
/// where each loop has one load.
std::int32_t slotsOfNest(std::size_t loops) {
  constexpr auto kSlots = std::to_array<std::int32_t>({ForAttrs::kMostSlots, 6, 4});
  return kSlots[std::clamp<std::size_t>(loops, 1, kSlots.size()) - 1];
}

/// Whether the proof of what loops will be together takes long: there are more runs to look at than
/// are worth the time.
bool isBeyondProof(const Kernel &kernel, const std::vector<PlannedLoop> &loops,
                   const machine::Machine &machine) {
  // So much takes up to 5 ms. Two loops in each other with twelve slots each and a role that loads
  // take nearly as much, most kernels less than a tenth.
  constexpr std::int64_t kWork = 800'000;
  const auto inRings = [](const PlannedLoop &planned) { return planned.hasRings(); };
  const auto byEngine = [](const PlannedLoop &planned) { return planned.loads.has(Ahead::Boxes); };
  // Where threads copy, all do the same: of 270 random pairs of loops none took more than half.
  const std::int64_t few = llvm::any_of(loops, byEngine) ? 1 : 2;
  if (llvm::count_if(loops, inRings) <= few) return false;
  LoopOrders orders;
  for (const PlannedLoop &planned : loops)
    if (planned.hasRings())
      orders.emplace(planned.loop,
                     OrderedLoop{.loads = planned.loads,
                                 .order = orderLoop(kernel, *planned.loop, planned.loads,
                                                    planned.choice, machine),
                                 .refills = planned.refills});
  return schedule::takesMoreWork(joinOrders(kernel, orders), kWork);
}

std::vector<PlannedLoop> planWithinProof(const Kernel &kernel, const std::vector<Op *> &loops,
                                         const PassContext &context) {
  const std::int32_t most = slotsOfNest(deepestNest(kernel.body()));
  // Of loops in each other or in a row a proof may have more runs to look at than it is willing to:
  // then plans may use less, down to loops as they are.
  const auto limits = std::to_array<Limits>({{.slots = most},
                                             {.slots = most, .mayHaveLoader = false},
                                             {.slots = 5, .mayHaveLoader = false},
                                             {.slots = 3, .mayHaveLoader = false},
                                             {.slots = 2, .mayHaveLoader = false},
                                             {.slots = 1, .mayHaveLoader = false}});
  std::vector<PlannedLoop> planned;
  for (const Limits &limit : limits) {
    const bool wouldBeSame = !planned.empty() && limit.allow(planned);
    if (wouldBeSame) continue;
    planned = LoopsPlanner(kernel, loops, context, limit).run();
    if (!isBeyondProof(kernel, planned, context.machine)) break;
  }
  return planned;
}

/// How far in front of the last of them a loop is.
std::int32_t placesBack(const Op *loop, llvm::ArrayRef<const Op *> plans) {
  return static_cast<std::int32_t>(plans.end() - llvm::find(plans, loop)) - 1;
}

/// Writes a decision into the kernel; `plans`: the loops that have one, up to this.
void write(const PlannedLoop &planned, llvm::ArrayRef<const Op *> plans) {
  auto &attrs = planned.loop->attrs<ForAttrs>();
  attrs.slots = planned.choice.slots;
  attrs.loader = planned.choice.hasLoader;
  attrs.refills = planned.refills ? placesBack(planned.refills, plans) : 0;
  attrs.turns = planned.turns;
  for (const auto &op : planned.loop->regions[0].ops) {
    if (!isLoad(*op)) continue;
    aheadOf(*op) = Ahead::No;
    for (const auto *loads : {&planned.loads, &planned.staged})
      for (const AheadLoad &load : loads->loads)
        if (load.op == op.get()) aheadOf(*op) = load.by;
    if (aheadOf(*op) != Ahead::Copies) widthOf(*op) = 1;
  }
}

} // namespace

void planLoops(Kernel &kernel, const PassContext &context) {
  const std::vector<Op *> loops = loopsThat(isPipelined, kernel);
  std::vector<const Op *> plans;
  for (const PlannedLoop &planned : planWithinProof(kernel, loops, context)) {
    if (planned.choice.slots > 0) plans.push_back(planned.loop);
    write(planned, plans);
    if (context.explanation) *context.explanation += planned.explanation;
  }
}

} // namespace imbrex::passes::pipeline
