#include "backend/passes/pipeline/trip_counts.h"

#include "backend/passes/pipeline/read_condition.h"
#include "backend/passes/rewriting.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

namespace imbrex::passes::pipeline {

using namespace ir;
using schedule::TripsId;

namespace {

std::set<std::uint64_t> barriersIn(const Op &loop) {
  std::set<std::uint64_t> found;
  walk(loop.regions[0], [&](const Op &op) {
    if (op.kind == OpKind::RingLoadBox) found.insert(op.operand(1).index());
    const bool isOfBarrier = llvm::is_contained(
        {OpKind::BarrierWait, OpKind::BarrierArrive, OpKind::BarrierExpect}, op.kind);
    if (isOfBarrier) found.insert(op.operand(0).index());
  });
  return found;
}

} // namespace

TripsId TripCounts::ofFor(const Op &loop) {
  if (mayBeLeft(loop)) return trips(What::Loop, loop, {});
  const std::set<std::uint64_t> meets = barriersIn(loop);
  Known known;
  if (!meets.empty()) {
    known = {same_(loop.operand(0)), same_(loop.operand(1)), same_(loop.operand(2))};
    known.insert(known.end(), meets.begin(), meets.end());
  }
  const TripsId counted = trips(meets.empty() ? What::Loop : What::Counts, loop, known);
  same_.setIndex(loop.regions[0].arguments[0], counted.index());
  return counted;
}

TripsId TripCounts::trips(What what, const Op &op, const Known &of) {
  Known known{static_cast<std::uint64_t>(what), within_.valid() ? within_.index() + 1 : 0};
  if (of.empty()) known.push_back(reinterpret_cast<std::uintptr_t>(&op));
  known.insert(known.end(), of.begin(), of.end());
  std::vector<schedule::Trips> &all = read_.program.trips;
  const auto [at, isNew] =
      known_.try_emplace(std::move(known), TripsId(static_cast<std::uint32_t>(all.size())));
  if (!isNew) return at->second;
  const bool isLoop = what == What::Loop || what == What::Counts;
  all.push_back({.name = (isLoop ? "k" : "once") + std::to_string(at->second.index()),
                 .within = within_,
                 .where = op.where});
  read_.trips.push_back(kindOf(what, op));
  return at->second;
}

/// Who is asked how many there are is asked of loops alone.
TripsKind TripCounts::kindOf(What what, const Op &op) const {
  if (what == What::Rest) return TripsKind::Rest;
  if (what == What::Branch) return TripsKind::Branch;
  if (op.kind != OpKind::For) return TripsKind::Loop;
  const auto low = constantInteger(kernel_, op.operand(0));
  const auto high = constantInteger(kernel_, op.operand(1));
  const auto step = constantInteger(kernel_, op.operand(2));
  if (!low || !high || !step) return TripsKind::Loop;
  const bool runs = *step > 0 ? *low < *high : *step < 0 && *low > *high;
  return runs ? TripsKind::LoopWithTrips : TripsKind::LoopWithoutTrips;
}

} // namespace imbrex::passes::pipeline
