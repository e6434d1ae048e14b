#include "tests/support/small_schedules.h"

#include "tests/support/small_shapes.h"

namespace imbrex::testing {

using namespace schedule;

const std::vector<SmallSchedule> &smallSchedules() {
  static const std::vector<SmallSchedule> schedules = {
      {"gemm", make(gemm, kGemm2), {{"k", {5}}}},
      {"deep gemm", make(gemm, {.depth = 3, .inFlight = 2, .warps = 1}), {{"k", {7}}}},
      {"persistent gemm", make(gemm, kTiledGemm), {{"tiles", {3}}, {"k", {2, 3}}}},
      {"gemm released ahead", make(gemm, kAheadGemm), {{"k", {5}}}},
      {"bias gemm", make(biasGemm, kBiasGemm), {{"tiles", {3}}, {"k", {2, 1}}}},
      {"tensor gemm", make(tensorGemm, kTensorGemm), {{"tiles", {3}}, {"k", {1, 2}}}},
      {"tensor gemm of two results", make(tensorGemm, kTwoResults), {{"tiles", {3}}, {"k", {1}}}},
      {"attention", make(attention, kAttention), {{"tiles", {2}}, {"n", {2, 3}}}},
      {"grouped gemm", make(groupedGemm, kGroupedGemm), {{"k", {5}}}},
      {"grouped gemm with epilogue", make(groupedGemm, kEpilogueGemm), {{"k", {4}}}},
      {"ping-pong gemm", make(pingPongGemm, kPingPong), {{"k", {4}}}},
      {"deep ping-pong gemm", make(pingPongGemm, kDeepPingPong), {{"k", {5}}}},
      {"staged ping-pong gemm", staged(StagedPingPongDefect::None), {{"k", {3}}}},
      {"shared operand", make(sharedOperand, Version::Repaired), {{"k", {3}}}},
      {"explicit barrier", make(explicitBarrier, Version::Repaired), {{"k", {5}}}},
      {"descriptor", make(descriptor, Version::Repaired), {{"tiles", {3}}}},
      {"mailbox", make(mailbox, Version::Repaired), {{"tiles", {4}}}},
      {"bulk store", make(bulkStore, Version::Repaired), {{"tiles", {3}}}},
      {"made barriers", make(madeBarriers, Version::Repaired), {}},
      {"tensor store", make(tensorStore, Version::Repaired), {}},
  };
  return schedules;
}

TripCount tripsByName(const Program &program, const TripTable &table) {
  std::vector<std::vector<std::int64_t>> byId;
  for (const Trips &trips : program.trips) byId.push_back(table.at(trips.name));
  return [byId](TripsId id, std::int64_t of) {
    const auto &counts = byId[id.index()];
    return counts[static_cast<std::size_t>(of) % counts.size()];
  };
}

} // namespace imbrex::testing
