#include "tests/support/schedule_builder.h"
#include "tests/support/schedules.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string>

namespace imbrex::testing {

using namespace schedule;

namespace {

constexpr std::int64_t kStep = 32768; // bytes of A and B for one step

/// Direct copies into a ring. Of a slot each group loads its half in two pieces, and both groups
/// read all first pieces, then all second ones.
class PingPong {
public:
  PingPong(const PingPongShape &shape, PingPongDefect defect) : shape_(shape), defect_(defect) {
    k_ = build_.trips("k");
    ring_ = build_.ring("AB", shape.depth);
    for (const std::size_t group : {0u, 1u})
      for (const std::size_t piece : {0u, 1u})
        pieces_[group][piece] =
            build_.buffer({.name = "AB" + std::to_string(group) + std::to_string(piece),
                           .ring = ring_,
                           .bytes = kStep / 4,
                           .parts = shape.warps});
    all_ = build_.meeting("all", 2 * shape.warps);
    group(0);
    group(1);
  }

  Program take() { return build_.take(); }

private:
  bool is(PingPongDefect defect) const { return defect_ == defect; }

  /// The step whose tile is loaded, from the one that is computed.
  std::int32_t stepsAhead() const {
    return shape_.depth - (is(PingPongDefect::LoadsTooFar) ? 0 : 1);
  }

  void group(std::size_t number) {
    auto role = build_.role("group" + std::to_string(number), shape_.warps);
    const Index fill = role.cursor("f", ring_), use = role.cursor("u", ring_);
    const QueueId loads = role.queue({.name = "loads"}), reads = role.queue({.name = "reads"});
    for (std::int32_t ahead = 0; ahead < stepsAhead(); ++ahead)
      role.when(countOver(k_, ahead), [&] { load(role, loads, fill, number); });
    // How many loads there were is not known where there are few steps.
    role.drain(loads);
    role.meet(all_);
    if (number == 1) role.meet(all_);
    role.loop(k_, 0, stepsAhead(),
              [&] { step(role, {loads, reads, fill, use}, number, stepsAhead() + 1); });
    // The last steps load nothing, so that there are fewer loads to leave in flight.
    for (std::int32_t left = stepsAhead(); left > 0; --left)
      role.when(countOver(k_, left - 1),
                [&] { step(role, {loads, reads, fill, use}, number, left); });
    if (number == 0 && !is(PingPongDefect::NotStaggeredBack)) role.meet(all_);
  }

  void load(RoleBuilder &role, QueueId loads, Index fill, std::size_t number) {
    for (const BufferId piece : pieces_[number]) role.issue(loads, {own(write(piece, fill))});
    role.advance(fill);
  }

  void readPiece(RoleBuilder &role, QueueId reads, Index use, std::size_t piece) {
    for (const auto &ofGroup : pieces_) role.issue(reads, {read(ofGroup[piece], use)});
  }

  struct Places {
    QueueId loads, reads;
    Index fill, use;
  };

  /// With so many steps left; where there is one to load for, there may be more of them.
  void step(RoleBuilder &role, const Places &at, std::size_t number, std::int32_t left) {
    const bool early = is(PingPongDefect::MeetsBeforeReadsEnd);
    const std::int32_t inFlight =
        std::max(0, 2 * (left - 2)) + (is(PingPongDefect::DrainOneTileWeaker) ? 2 : 0);
    readPiece(role, at.reads, at.use, 0);
    if (left > stepsAhead()) load(role, at.loads, at.fill, number);
    if (!early) role.drain(at.reads);
    role.meet(all_);
    if (early) role.drain(at.reads);
    role.meet(all_); // behind the first products
    readPiece(role, at.reads, at.use, 1);
    if (!early) role.drain(at.reads);
    role.drain(at.loads, inFlight);
    role.meet(all_);
    if (early) role.drain(at.reads);
    role.meet(all_); // behind the second ones
    role.advance(at.use);
  }

  const PingPongShape &shape_;
  PingPongDefect defect_;
  ScheduleBuilder build_ = ScheduleBuilder("ping_pong_gemm");
  TripsId k_;
  RingId ring_;
  std::array<std::array<BufferId, 2>, 2> pieces_;
  MeetingId all_;
};

/// One slot, filled from registers: eight clusters for each step, a meeting behind each.
class StagedPingPong {
public:
  StagedPingPong(std::int32_t warps, StagedPingPongDefect defect) : defect_(defect) {
    k_ = build_.trips("k");
    ring_ = build_.ring("AB", 1);
    for (const std::size_t group : {0u, 1u}) {
      const std::string name = std::to_string(group);
      halves_[group] =
          build_.buffer({.name = "AB" + name, .ring = ring_, .bytes = kStep / 2, .parts = warps});
      staged_[group] = build_.buffer({.name = "staged" + name,
                                      .ring = ring_,
                                      .bytes = kStep / 2 / warps,
                                      .space = Space::Registers});
    }
    all_ = build_.meeting("all", 2 * warps);
    group(0, warps);
    group(1, warps);
  }

  Program take() { return build_.take(); }

private:
  bool is(StagedPingPongDefect defect) const { return defect_ == defect; }

  void group(std::size_t number, std::int32_t warps) {
    auto role = build_.role("group" + std::to_string(number), warps);
    const Index use = role.cursor("u", ring_);
    const QueueId loads = role.queue({.name = "loads"});
    const QueueId shared = role.queue({.name = "shared", .serial = true, .capacity = 15});
    const auto stage = [&](Index at) { role.issue(loads, {write(staged_[number], at)}); };
    const auto store = [&](Index at) {
      role.drain(loads);
      role.issue(shared, {read(staged_[number], at), own(write(halves_[number], at))});
    };
    const auto readBoth = [&] {
      role.issue(shared, {read(halves_[0], use), read(halves_[1], use)});
    };
    role.when(countOver(k_, 0), [&] {
      stage(use);
      store(use);
      role.drain(shared);
      role.meet(all_);
      if (number == 1) role.meet(all_);
    });
    role.loop(k_, 0, 1, [&] { step(role, shared, {stage, store, readBoth}, use); });
    role.when(countOver(k_, 0), [&] {
      readBoth();
      role.drain(shared);
      role.meet(all_);
      if (number == 0) role.meet(all_);
    });
  }

  struct Actions {
    std::function<void(Index)> stage, store;
    Block readBoth;
  };

  void step(RoleBuilder &role, QueueId shared, const Actions &actions, Index use) {
    const bool readsDrained =
        !is(StagedPingPongDefect::ReadsNotDrained) && !is(StagedPingPongDefect::NeitherDrained);
    const bool writesDrained =
        !is(StagedPingPongDefect::WritesNotDrained) && !is(StagedPingPongDefect::NeitherDrained);
    actions.stage(further(use, 1));
    actions.readBoth();
    role.meet(all_); // ends cluster 0
    role.drain(shared);
    role.meet(all_);
    actions.readBoth();
    actions.readBoth();
    role.meet(all_);
    role.drain(shared);
    role.meet(all_);
    actions.readBoth(); // for cluster 5
    actions.readBoth(); // for cluster 7
    if (readsDrained) role.drain(shared);
    role.meet(all_); // ends cluster 4
    role.drain(shared, 1);
    role.meet(all_);
    role.drain(shared);
    actions.store(further(use, 1));
    if (writesDrained) role.drain(shared);
    role.meet(all_); // ends cluster 6
    role.meet(all_);
    role.advance(use);
  }

  StagedPingPongDefect defect_;
  ScheduleBuilder build_ = ScheduleBuilder("staged_ping_pong_gemm");
  TripsId k_;
  RingId ring_;
  std::array<BufferId, 2> halves_, staged_;
  MeetingId all_;
};

} // namespace

Program groupedGemm(const GroupedGemmShape &shape, GroupedGemmDefect defect) {
  const std::int32_t ahead = shape.depth - (defect == GroupedGemmDefect::CopiesTooFar ? 0 : 1);
  const std::int32_t inFlight = shape.depth - (defect == GroupedGemmDefect::DrainOneWeaker ? 1 : 2);
  ScheduleBuilder build("grouped_gemm");
  const TripsId k = build.trips("k");
  const RingId ring = build.ring("AB", shape.depth);
  const BufferId tile =
      build.buffer({.name = "AB", .ring = ring, .bytes = kStep, .parts = shape.warps, .offset = 0});
  const MeetingId all =
      build.meeting("all", shape.warps + (defect == GroupedGemmDefect::MeetsWithAll ? 1 : 0));

  auto role = build.role("compute", shape.warps);
  const Index fill = role.cursor("f", ring), use = role.cursor("u", ring);
  const QueueId copies = role.queue({.name = "copies", .grouped = true});
  const auto copyAndAdvance = [&] {
    role.issue(copies, {own(write(tile, fill))});
    role.advance(fill);
  };
  for (std::int32_t step = 0; step < ahead; ++step) {
    role.when(countOver(k, step), copyAndAdvance);
    role.commit(copies); // an empty group where there is no such step, so that the count is right
  }
  role.forTrips(k, [&] {
    role.drain(copies, inFlight);
    if (defect == GroupedGemmDefect::CommitAfterDrain) role.commit(copies);
    if (defect != GroupedGemmDefect::NoMeeting) role.meet(all);
    // This slot was last read in the step before, which the meeting has ended for all.
    role.when(leftOver(k, ahead), copyAndAdvance);
    if (defect != GroupedGemmDefect::CommitAfterDrain) role.commit(copies);
    role.access({read(tile, use)});
    role.advance(use);
  });
  if (shape.epilogue) {
    const BufferId result =
        build.buffer({.name = "result", .bytes = kStep, .parts = shape.warps, .offset = 0});
    if (defect != GroupedGemmDefect::EpilogueNotDrained) {
      role.drain(copies);
      role.meet(all);
    }
    role.access({own(write(result))});
  }
  return build.take();
}

Program pingPongGemm(const PingPongShape &shape, PingPongDefect defect) {
  return PingPong(shape, defect).take();
}

Program stagedPingPongGemm(std::int32_t warps, StagedPingPongDefect defect) {
  return StagedPingPong(warps, defect).take();
}

} // namespace imbrex::testing
