#include "backend/passes/pipeline/plan_turns.h"

#include "backend/analysis/matrix_product.h"
#include "backend/ir/products.h"
#include "backend/ir/ring_bytes.h"
#include "backend/machine/occupancy.h"
#include "backend/passes/pipeline/loop_costs.h"
#include "backend/passes/pipeline/plan_loop.h"
#include "backend/passes/pipeline/product_parts.h"
#include "backend/passes/pipeline/read_condition.h"
#include "backend/passes/units/unit_registers.h"
#include "backend/schedule/plan/compute_groups.h"
#include "backend/schedule/timeline/timeline.h"
#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <array>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;
using schedule::BufferId;
using schedule::Cost;
using schedule::QueueId;
using schedule::ScheduleOp;
using schedule::ScheduleOpKind;
using schedule::TripsId;

/// Each is an agent to the planner.
constexpr std::int32_t kGroups = 2;

/// A trip's operations, one after the other, for cutIntoClusters.
class WorkWriter {
public:
  explicit WorkWriter(const TurnTrip &trip) : trip_(trip) {}

  schedule::Program operator()() {
    work_.name = "turns";
    work_.trips.push_back({.name = "trip"});
    work_.buffers = {{.name = "tiles", .parts = kGroups},
                     {.name = "fragments", .space = schedule::Space::Registers},
                     {.name = "sums", .space = schedule::Space::Registers},
                     {.name = "next", .space = schedule::Space::Registers}};
    work_.queues = {{.name = "loads", .role = schedule::RoleId(0)},
                    {.name = "shared", .role = schedule::RoleId(0), .serial = true}};
    std::vector<ScheduleOp> body;
    body.push_back({.kind = ScheduleOpKind::Access, .accesses = {written(kSums)}});
    body.push_back({.kind = ScheduleOpKind::For, .trips = TripsId(0), .body = trip()});
    work_.roles.push_back({.name = "warps", .warps = kGroups, .body = std::move(body)});
    return std::move(work_);
  }

private:
  static constexpr BufferId kTiles{0}, kFragments{1}, kSums{2}, kNext{3};
  static constexpr QueueId kLoads{0}, kShared{1};

  static schedule::Access read(BufferId buffer) { return {.buffer = buffer}; }
  static schedule::Access written(BufferId buffer) { return {.buffer = buffer, .writes = true}; }
  static schedule::Access own(BufferId buffer) {
    return {.buffer = buffer, .writes = true, .part = schedule::Part::Own};
  }
  static ScheduleOp issue(QueueId queue, std::vector<schedule::Access> accesses, Cost cost) {
    return {.kind = ScheduleOpKind::Issue,
            .accesses = std::move(accesses),
            .queue = queue,
            .cost = std::move(cost)};
  }

  std::vector<ScheduleOp> trip() const {
    std::vector<ScheduleOp> body;
    body.push_back(issue(kLoads, {trip_.areStored ? written(kNext) : own(kTiles)}, trip_.load));
    if (trip_.areStored) body.push_back(issue(kShared, {read(kNext), own(kTiles)}, trip_.store));
    for (std::int32_t part = 0; part < trip_.parts; ++part) {
      body.push_back(issue(kShared, {read(kTiles), written(kFragments)}, trip_.read));
      // The last may be cut in two, with stores between them.
      const bool isLast = part + 1 == trip_.parts;
      Cost cost = trip_.product;
      if (isLast) cost = schedule::halved(cost);
      for (int i = 0; i < (isLast ? 2 : 1); ++i)
        body.push_back({.kind = ScheduleOpKind::Access,
                        .accesses = {read(kFragments), read(kSums), written(kSums)},
                        .cost = cost});
    }
    return body;
  }

  const TurnTrip &trip_;
  schedule::Program work_;
};

schedule::TurnLoop turnLoopOf(const TurnTrip &trip) {
  std::string why;
  const auto last = trip.areStored ? schedule::LastCluster::Halved : schedule::LastCluster::Whole;
  auto loop =
      schedule::cutIntoClusters(WorkWriter(trip)(), QueueId(0), TripsId(0), trip.slots, why, last);
  IMBREX_CHECK(loop, "a product's trip makes no clusters: {0}", why);
  return *std::move(loop);
}

/// The reasons that a loop is not for turns, and what it would be like.
class TurnsPlanner {
public:
  TurnsPlanner(const Kernel &kernel, Op &loop, const LoopLoads &loads, std::int32_t slots,
               const machine::Machine &machine)
      : kernel_(kernel), loop_(loop), loads_(loads), slots_(slots), machine_(machine),
        asked_(loop.attrs<ForAttrs>().turns) {}

  std::optional<PlannedTurns> run(std::string &why) {
    why = whyNotHere();
    if (why.empty()) why = findProduct();
    if (!why.empty()) return std::nullopt;
    constexpr std::int32_t kFewest = 2;
    const std::int32_t fewest = asked_ > 0 ? asked_ : kFewest;
    for (const std::int32_t parts : {fewest, 2 * fewest}) {
      const std::string whyNot = whyNotIn(parts);
      if (whyNot.empty()) return planned(parts, why);
      if (why.empty()) why = whyNot;
    }
    return std::nullopt;
  }

private:
  std::string whyNotHere() const {
    if (asked_ == ForAttrs::kNoTurns) return "the loop asks for none";
    if (std::string why = whyNotApart(kernel_, loop_, machine_); !why.empty()) return why;
    const bool areCopied = machine_.asyncCopies.areInLaneOrder && loads_.areAll(Ahead::Copies);
    if (!areCopied && !areStored_) return "not all that is loaded gets slots";
    return "";
  }

  /// The only thing that a trip does.
  std::string findProduct() {
    const std::vector<std::int32_t> uses = countUses(kernel_);
    for (const auto &op : loop_.regions[0].ops) {
      const auto product = summedProduct(kernel_, machine_, loop_, *op, uses);
      if (product && product_.dot) return "a trip has several products";
      if (product)
        product_ = *product;
      else if (!isForLoads(*op))
        return "a trip has more to do than one product that is summed up";
    }
    if (!product_.dot) return "no product is summed up from trip to trip";
    for (const std::size_t i : {0, 1})
      if (!loads_.inPlace.contains(product_.dot->operand(i)))
        return "an operand is not read where it lies";
    return "";
  }

  bool isForLoads(const Op &op) const {
    const bool isOne = llvm::any_of(loads_.loads, [&](const AheadLoad &l) { return l.op == &op; });
    const bool isForThem =
        (loads_.addresses.contains(&op) || loads_.steps.contains(&op)) && isOfScalars(kernel_, op);
    const auto isNamed = [&](ValueId value) { return loads_.inPlace.contains(value); };
    return isOne || isForThem || op.kind == OpKind::Yield || op.kind == OpKind::Constant ||
           (!op.results.empty() && llvm::all_of(op.results, isNamed));
  }

  std::int64_t depth() const { return depthOf(kernel_, *product_.dot); }

  std::string whyNotIn(std::int32_t parts) const {
    // The last part of what is stored is multiplied in two pieces.
    const std::int64_t least = leastOfOrder() * (areStored_ ? 2 : 1);
    if (!makesParts(depth(), parts, least))
      return "a trip's " + std::to_string(depth()) + " of k make no " + std::to_string(parts) +
             " parts of at least " + std::to_string(least);
    const std::int64_t wanted =
        kOtherRegisters + carriedRegisters(kernel_, loop_) +
        fragmentRegisters(kernel_, machine_, *product_.dot, depth() / parts) + staged();
    if (wanted < machine::registersOfThread(machine_, kernel_.threads().count())) return "";
    return "a part's fragments take more registers than a thread has";
  }

  /// Of k, as many as its order will mix (order_products.h): a lane reads 16 bytes at a time, of so
  /// many instructions.
  std::int64_t leastOfOrder() const {
    const machine::MmaInstruction &unit = *analysis::unitOf(kernel_, *product_.dot, machine_);
    const std::int64_t bits = storageBits(elementOf(kernel_, *product_.dot, 0));
    const std::int64_t bytes = unit.m * unit.k / machine_.warpSize * bits / 8;
    return unit.k * std::max<std::int64_t>(1, layout::kMaxAccessBytes / bytes);
  }

  std::int64_t staged() const {
    constexpr std::int64_t kRegisterBytes = 4;
    return areStored_ ? bytes() / kRegisterBytes / kernel_.threads().count() : 0;
  }

  std::int64_t bytes() const {
    std::int64_t bytes = 0;
    for (const AheadLoad &load : loads_.loads) {
      const ValueId tile = load.op->result();
      bytes += slotBytes(kernel_.type(tile), kernel_.layout(kernel_.layoutOf(tile)));
    }
    return bytes;
  }

  std::optional<PlannedTurns> planned(std::int32_t parts, std::string &why) const {
    if (areStored_ && asked_ == 0) {
      // Reads and products of one warp are in an order in which units wait as little
      // (docs/matrix-units.md, "Order"), and take fewer registers.
      why = "what is stored into slots would take a cluster of its own";
      return std::nullopt;
    }
    const Work all = workOf(kernel_, *product_.dot, machine_);
    const TurnTrip trip{.parts = parts,
                        .slots = areStored_ ? 1 : slots_,
                        .areStored = areStored_,
                        .load = copyCost(machine_.asyncCopies, bytes(), sourceOf(kernel_)),
                        .store = combinedCost(workToRead(bytes(), machine_)),
                        .read = costOn(kSharedMemory, (all.shared - filled()) / parts),
                        .product = costOn(kMatrixUnits, all.units / parts)};
    const schedule::TurnLoop turns = turnLoopOf(trip);
    const schedule::PlacementSearch search = searchPlacements(turns);
    IMBREX_CHECK(search.best, "no slot can be filled in any cluster");
    const auto interval =
        initiationInterval(programOf(turns, *search.best), TripsId(0), {kUsualTrips});
    IMBREX_CHECK(interval.ok(), "turns have no timeline: {0}", interval.error().message);
    // More than a tenth is lost where units wait for what is read, however it is ordered.
    constexpr double kMost = 1.1;
    const auto units = static_cast<double>(all.units);
    if (asked_ == 0 && interval->cyclesPerTrip > kMost * units) {
      why = "units would wait for shared memory";
      return std::nullopt;
    }
    const std::string described = describe(turns, search);
    std::string lines;
    for (const llvm::StringRef line : llvm::split(described, '\n'))
      lines += "  " + line.str() + "\n";
    return PlannedTurns{
        .parts = parts,
        .explanation = "  halves of the warps take turns, k in " + std::to_string(parts) +
                       " parts: " + toText(interval->cyclesPerTrip) + " cycles a trip\n" + lines};
  }

  /// What fills slots, which the cost of a product has in it.
  std::int64_t filled() const { return workToRead(bytes(), machine_).shared; }

  const Kernel &kernel_;
  Op &loop_;
  const LoopLoads &loads_;
  const bool areStored_ = loads_.areAll(Ahead::Stores);
  const std::int32_t slots_;
  const machine::Machine &machine_;
  const std::int32_t asked_;
  SummedProduct product_;
};

} // namespace

std::string whyNotApart(const Kernel &kernel, const Op &loop, const machine::Machine &machine) {
  if (!machine::mayBeApart(machine)) return "the machine's warps all meet at one place";
  if (kernel.threads().warps != kGroups * machine.partitionsPerCore)
    return "each partition is to have two warps, one of each half";
  if (llvm::any_of(kernel.body().ops, [](const auto &op) { return mayLeave(*op); }))
    return "a warp may end before the others";
  if (llvm::none_of(kernel.body().ops, [&](const auto &op) { return op.get() == &loop; }))
    return "the loop stands in another body";
  return mayBeLeft(loop) ? "the loop may be left" : "";
}

bool isOfScalars(const Kernel &kernel, const Op &op) {
  const auto isScalar = [&](ValueId value) { return !kernel.layoutOf(value).valid(); };
  return llvm::all_of(op.operands, isScalar) && llvm::all_of(op.results, isScalar) &&
         op.regions.empty();
}

schedule::LoadPlace placeOfFill(const TurnTrip &trip) {
  const auto search = schedule::searchPlacements(turnLoopOf(trip));
  IMBREX_CHECK(search.best, "no slot can be filled in any cluster");
  return search.best->front();
}

std::optional<PlannedTurns> planTurns(const Kernel &kernel, Op &loop, const LoopLoads &loads,
                                      std::int32_t slots, const machine::Machine &machine,
                                      std::string &why) {
  return TurnsPlanner(kernel, loop, loads, slots, machine).run(why);
}

} // namespace imbrex::passes::pipeline
