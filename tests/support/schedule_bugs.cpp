#include "tests/support/schedule_bugs.h"

#include "tests/support/small_shapes.h"

namespace imbrex::testing {

using namespace schedule;

namespace {

/// 512 threads in four groups: 24 registers for one group's warps and 240 for the others' are more
/// than 65,536.
constexpr GemmShape kGreedy = {
    .warps = 12, .loadWarps = 1, .loadRegisters = 24, .computeRegisters = 240};
constexpr GemmShape kModest = {
    .warps = 12, .loadWarps = 1, .loadRegisters = 32, .computeRegisters = 160};

KnownBug small(std::string_view id, std::string_view what, std::vector<Fault> faults,
               Program (*schedule)(Version), TripTable trips = {}) {
  return {id,
          what,
          std::move(faults),
          make(schedule, Version::Broken),
          make(schedule, Version::Repaired),
          std::move(trips)};
}

using enum Fault;

std::vector<KnownBug> ringBugs() {
  return {
      {"T1",
       "a slot is released before the products that read it have ended",
       {OverwriteRace},
       make(gemm, kGemm, GemmDefect::ReleasedAtIssue),
       make(gemm, kGemm),
       {{"k", {3}}}},
      {"T2",
       "a warp's wait for its products is taken for that of its group",
       {OverwriteRace},
       make(gemm, kGemm2, GemmDefect::OneReleasesForAll),
       make(gemm, kGemm2),
       {{"k", {3}}}},
      {"T6",
       "the parity starts anew with each tile",
       {ParityAlias, Deadlock, WrongGeneration},
       make(gemm, kTiledGemm, GemmDefect::RestartsPerTile),
       make(gemm, kTiledGemm),
       {{"tiles", {2}}, {"k", {3}}}},
      {"T6 loader",
       "the loader's parity alone starts anew with each tile",
       {ParityAlias, Deadlock, WrongGeneration, OverwriteRace},
       make(gemm, kTiledGemm, GemmDefect::LoaderRestartsPerTile),
       make(gemm, kTiledGemm),
       {{"tiles", {2}}, {"k", {3}}}},
      {"T26",
       "the product in flight is the one whose slot is released",
       {OverwriteRace},
       make(gemm, kGemm, GemmDefect::ReleasedInFlight),
       make(gemm, kGemm),
       {{"k", {3}}}},
      {"T28",
       "one slot, and a product in flight",
       {Deadlock, Depth},
       make(gemm, kOneSlotInFlight),
       make(gemm, kOneSlot),
       {{"k", {2}}}},
      {"T29",
       "one of two operands has a single slot",
       {OverwriteRace, WriteRace},
       make(gemm, kGemm, GemmDefect::SingleSecondOperand),
       make(gemm, kGemm),
       {{"k", {3}}}},
      {"T32",
       "the index of one role's ring starts anew with each tile",
       {WrongGeneration, ParityAlias, Deadlock, OverwriteRace},
       make(biasGemm, kBiasGemm, BiasGemmDefect::OperandsRestartAtTile),
       make(biasGemm, kBiasGemm),
       {{"tiles", {2}}, {"k", {3}}}},
      {"T36",
       "a result is released while it is being read",
       {OverwriteRace},
       make(tensorGemm, kTensorGemm, TensorGemmDefect::ResultReleasedEarly),
       make(tensorGemm, kTensorGemm),
       {{"tiles", {2}}, {"k", {1}}}},
      {"T41",
       "two roles count the steps differently",
       {Deadlock},
       make(gemm, kGemm, GemmDefect::LoadsOneLess),
       make(gemm, kGemm),
       {{"k", {2}}}},
  };
}

std::vector<KnownBug> handoverBugs() {
  return {
      small("T7", "a barrier of its own is waited for with a ring's parity",
            {ParityAlias, WrongGeneration, ReadRace}, explicitBarrier, {{"k", {3}}}),
      small("T8", "an operand that all share is filled again before all have read it",
            {OverwriteRace}, sharedOperand, {{"k", {2}}}),
      small("T31", "a descriptor is changed while a store reads it", {OverwriteRace}, descriptor,
            {{"tiles", {2}}}),
      small("T34", "an address is known by the barriers of steps, of which there may be none",
            {ReadRace}, address, {{"k", {0}}}),
      small("T35", "a tile is said to be there before its store has ended", {ReadRace},
            tensorStore),
      small("T43", "one of the readers of a mailbox does not say that it has read", {OverwriteRace},
            mailbox, {{"tiles", {2}}}),
  };
}

std::vector<KnownBug> countBugs() {
  return {
      {"T24",
       "a release that two wait for reaches one",
       {Deadlock},
       make(tensorGemm, kTensorGemm, TensorGemmDefect::ReleaseReachesOne),
       make(tensorGemm, kTensorGemm),
       {{"tiles", {1}}, {"k", {3}}}},
      {"T44",
       "fewer arrivals are counted than there are consumers",
       {OverArrival, EarlyArrival, OverwriteRace},
       make(gemm, kGemm2, GemmDefect::EmptyCountTooLow),
       make(gemm, kGemm2),
       {{"k", {3}}}},
      {"count high",
       "more arrivals are counted than there are consumers",
       {Deadlock},
       make(gemm, kGemm, GemmDefect::EmptyCountTooHigh),
       make(gemm, kGemm),
       {{"k", {3}}}},
      {"first wait",
       "the loader waits for a release of what was never filled",
       {Deadlock},
       make(gemm, kGemm, GemmDefect::LoaderNotFlipped),
       make(gemm, kGemm),
       {{"k", {1}}}},
      {"expect",
       "bytes are expected, but nobody arrives",
       {Deadlock},
       make(gemm, kGemm, GemmDefect::ExpectDoesNotArrive),
       make(gemm, kGemm),
       {{"k", {1}}}},
      small("late expect", "bytes are expected in a phase that may be over by then",
            {BytesMismatch, ReadRace}, loneExpect),
      {"fewer bytes",
       "fewer bytes land than are expected",
       {BytesMismatch, Deadlock},
       make(gemm, kGemm, GemmDefect::FewerBytesLand),
       make(gemm, kGemm),
       {{"k", {1}}}},
      {"more bytes",
       "more bytes land than are expected",
       {BytesMismatch, Deadlock},
       make(gemm, kGemm, GemmDefect::MoreBytesLand),
       make(gemm, kGemm),
       {{"k", {1}}}},
      {"tail",
       "the last slots of a tile are not released",
       {Deadlock},
       make(gemm, kTiledGemm, GemmDefect::NotReleasedAtEnd),
       make(gemm, kTiledGemm),
       {{"tiles", {2}}, {"k", {2}}}},
      {"read first",
       "a slot is read before the wait for it",
       {ReadRace},
       make(gemm, kGemm, GemmDefect::ReadsBeforeWait),
       make(gemm, kGemm),
       {{"k", {1}}}},
  };
}

std::vector<KnownBug> attentionBugs() {
  return {
      {"T38",
       "an empty tile's turn is handed on without a wait for it",
       {EarlyArrival, OverArrival, ParityAlias},
       make(attention, kAttention, AttentionDefect::NoWaitOnEmptyTile),
       make(attention, kAttention),
       {{"tiles", {2}}, {"n", {1, 0}}}},
      {"T38 count",
       "one warp hands on the turn of its group",
       {OverArrival, EarlyArrival},
       make(attention, kAttention2, AttentionDefect::TurnCountOne),
       make(attention, kAttention2),
       {{"tiles", {1}}, {"n", {1}}}},
      {"key",
       "a key's slot is released while a product reads it",
       {OverwriteRace},
       make(attention, kAttention, AttentionDefect::KeyReleasedInFlight),
       make(attention, kAttention),
       {{"tiles", {1}}, {"n", {4}}}},
      {"value",
       "a value's slot is released while a product reads it",
       {OverwriteRace},
       make(attention, kAttention, AttentionDefect::ValueReleasedInFlight),
       make(attention, kAttention),
       {{"tiles", {1}}, {"n", {4}}}},
      {"query",
       "a query is released before the last product that reads it",
       {OverwriteRace, WrongGeneration},
       make(attention, kAttention, AttentionDefect::QueryReleasedEarly),
       make(attention, kAttention),
       {{"tiles", {2}}, {"n", {2}}}},
      {"turns",
       "both groups wait for the other's turn",
       {Deadlock},
       make(attention, kAttention, AttentionDefect::BothGroupsWait),
       make(attention, kAttention),
       {{"tiles", {1}}, {"n", {1}}}},
  };
}

std::vector<KnownBug> queueBugs() {
  return {
      {"T3",
       "memory of the ring is used again while copies are in flight",
       {WriteRace, OverwriteRace, ReadRace},
       make(groupedGemm, kEpilogueGemm, GroupedGemmDefect::EpilogueNotDrained),
       make(groupedGemm, kEpilogueGemm),
       {{"k", {4}}}},
      {"T15",
       "a use one step later than the copies count with needs one more slot",
       {OverwriteRace, WrongGeneration, ReadRace},
       make(groupedGemm, kGroupedGemm, GroupedGemmDefect::CopiesTooFar),
       make(groupedGemm, kGroupedGemm),
       {{"k", {4}}}},
      {"T20",
       "a drain comes before the newest group is closed",
       {ReadRace},
       make(groupedGemm, kGroupedGemm, GroupedGemmDefect::CommitAfterDrain),
       make(groupedGemm, kGroupedGemm),
       {{"k", {4}}}},
      {"weak drain",
       "one group too many may be in flight",
       {ReadRace},
       make(groupedGemm, kGroupedGemm, GroupedGemmDefect::DrainOneWeaker),
       make(groupedGemm, kGroupedGemm),
       {{"k", {3}}}},
      {"no meeting",
       "each warp waits for its own copies alone",
       {ReadRace, OverwriteRace},
       make(groupedGemm, kGroupedGemm, GroupedGemmDefect::NoMeeting),
       make(groupedGemm, kGroupedGemm),
       {{"k", {3}}}},
  };
}

std::vector<KnownBug> pingPongBugs() {
  return {
      {"T16",
       "a wait moved to a later step needs one more slot",
       {OverwriteRace, WrongGeneration, ReadRace},
       make(pingPongGemm, kPingPong, PingPongDefect::LoadsTooFar),
       make(pingPongGemm, kPingPong),
       {{"k", {4}}}},
      {"T17",
       "the warps meet before their reads have ended",
       {OverwriteRace},
       make(pingPongGemm, kPingPong, PingPongDefect::MeetsBeforeReadsEnd),
       make(pingPongGemm, kPingPong),
       {{"k", {3}}}},
      {"T19",
       "loads were moved behind where a drain had counted them",
       {ReadRace},
       make(pingPongGemm, kDeepPingPong, PingPongDefect::DrainOneTileWeaker),
       make(pingPongGemm, kDeepPingPong),
       {{"k", {4}}}},
      {"T45 reads",
       "reads are in flight when the other group may write",
       {OverwriteRace},
       staged(StagedPingPongDefect::ReadsNotDrained),
       staged(StagedPingPongDefect::None),
       {{"k", {2}}}},
      {"T45 writes",
       "writes are in flight when the other group may read",
       {ReadRace},
       staged(StagedPingPongDefect::WritesNotDrained),
       staged(StagedPingPongDefect::None),
       {{"k", {2}}}},
      {"T45",
       "neither reads nor writes have ended where the groups meet",
       {ReadRace, OverwriteRace},
       staged(StagedPingPongDefect::NeitherDrained),
       staged(StagedPingPongDefect::None),
       {{"k", {2}}}},
  };
}

std::vector<KnownBug> partyBugs() {
  return {
      small("T4", "a meeting counts warps of another role", {MeetingParties, Deadlock},
            epilogueMeeting),
      {"T4 loop",
       "a meeting in a loop counts a warp that is not in it",
       {MeetingParties, Deadlock},
       make(groupedGemm, kGroupedGemm, GroupedGemmDefect::MeetsWithAll),
       make(groupedGemm, kGroupedGemm),
       {{"k", {1}}}},
      {"T27",
       "one group lacks a meeting",
       {Deadlock, MeetingParties},
       make(pingPongGemm, kPingPong, PingPongDefect::NotStaggeredBack),
       make(pingPongGemm, kPingPong),
       {{"k", {1}}}},
      small("T37", "two meetings share a number at the same time", {MeetingParties}, twoMeetings),
      small("T14", "a barrier is used before it is known that it was made",
            {Uninitialised, ReadRace}, madeBarriers),
  };
}

std::vector<KnownBug> fenceBugs() {
  return {
      small("T13", "a product reads what was stored without a fence", {Unfenced}, fencedStore),
      small("T40", "a store reads what others wrote without a fence", {Unfenced}, bulkStore,
            {{"tiles", {2}}}),
      small("T40 barriers", "a copy uses a barrier that was made without a fence",
            {Unfenced, Uninitialised}, fencedBarriers),
  };
}

/// No order of operations shows it on the oracle's machine.
std::vector<KnownBug> registerBugs() {
  return {
      {"T10",
       "the roles' registers are more than there are",
       {RegisterBudget},
       make(gemm, kGreedy),
       make(gemm, kModest),
       {{"k", {1}}},
       /*seenByOracle=*/false},
  };
}

std::vector<KnownBug> seedBugs() {
  return {
      {"seed result",
       "the result is never released, and its release not waited for",
       {OverwriteRace, ParityAlias},
       make(tensorGemm, kTwoResults, TensorGemmDefect::ResultNeverReleased),
       make(tensorGemm, kTwoResults),
       {{"tiles", {3}}, {"k", {1}}}},
      {"seed result wait",
       "the products do not wait for a free result",
       {OverwriteRace, ParityAlias, ReadRace},
       make(tensorGemm, kTensorGemm, TensorGemmDefect::FirstWaitMissing),
       make(tensorGemm, kTensorGemm),
       {{"tiles", {2}}, {"k", {1}}}},
      {"seed result signal",
       "the result is said to be there before its products",
       {ReadRace},
       make(tensorGemm, kTensorGemm, TensorGemmDefect::ResultSignalledEarly),
       make(tensorGemm, kTensorGemm),
       {{"tiles", {1}}, {"k", {1}}}},
      {"seed bias twice",
       "the second slot of bias is loaded again before it is released",
       {Deadlock},
       make(biasGemm, kBiasGemm, BiasGemmDefect::BiasSlotSkipped),
       make(biasGemm, kBiasGemm),
       {{"tiles", {3}}, {"k", {1}}}},
      {"seed operands",
       "from some step on the operands of a later one are loaded",
       {WrongGeneration},
       make(biasGemm, kBiasGemm, BiasGemmDefect::OperandsRunAhead),
       make(biasGemm, kBiasGemm),
       {{"tiles", {1}}, {"k", {2}}}},
      {"seed second load",
       "the second load of the operands is missing",
       {Deadlock},
       make(tensorGemm, kTensorGemm, TensorGemmDefect::SecondLoadMissing),
       make(tensorGemm, kTensorGemm),
       {{"tiles", {1}}, {"k", {2}}}},
      {"seed second bias",
       "the second load of the bias is missing",
       {Deadlock},
       make(tensorGemm, kTensorGemm, TensorGemmDefect::SecondBiasMissing),
       make(tensorGemm, kTensorGemm),
       {{"tiles", {2}}, {"k", {1}}}},
      {"seed ahead",
       "a role that does not consume the operands releases their slots at the start",
       {OverArrival, EarlyArrival, OverwriteRace},
       make(gemm, kAheadGemm, GemmDefect::OthersArriveAhead),
       make(gemm, kAheadGemm),
       {{"k", {3}}}},
  };
}

} // namespace

const std::vector<KnownBug> &knownBugs() {
  static const std::vector<KnownBug> bugs = [] {
    std::vector<KnownBug> all;
    for (const auto &topic : {ringBugs(), handoverBugs(), countBugs(), attentionBugs(), queueBugs(),
                              pingPongBugs(), partyBugs(), fenceBugs(), registerBugs(), seedBugs()})
      all.insert(all.end(), topic.begin(), topic.end());
    return all;
  }();
  return bugs;
}

} // namespace imbrex::testing
