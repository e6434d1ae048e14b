#pragma once

#include "backend/schedule/check/model.h"
#include "backend/schedule/timeline.h"

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

/// One timed run of a program.
namespace imbrex::schedule::timeline {

/// Far more than a picture can show, in a few hundred megabytes.
constexpr std::int64_t kMostSteps = 2'000'000;

/// A run that is, some trips of a loop later, in the state in which it was before, so that it goes
/// on as it did from there.
struct Repetition {
  std::int32_t trips;
  std::int64_t cycles;
  std::map<std::string, std::int64_t> busy; ///< Of these, cycles, by resource and "role NAME".
};

class Simulation {
public:
  Simulation(const check::Model &model, const std::vector<std::int32_t> &trips);

  /// Notes when each role comes to each trip of this loop, the last time that it does, and ends the
  /// run when it repeats itself (`repetition`).
  void watch(TripsId loop);

  std::optional<Diagnostic> run();

  Timeline takeTimeline() { return std::move(out_); }
  /// None: the run has gone on to its end.
  const std::optional<Repetition> &repetition() const { return repetition_; }
  /// Cycles so far, by resource and "role NAME".
  std::map<std::string, std::int64_t> busy() const;
  /// By role and trip; 0 where the role has not come there.
  const std::vector<std::vector<std::int64_t>> &tripStarts() const { return tripStarts_; }

private:
  struct RoleRun {
    std::int32_t pc = 0;
    bool isDone = false;
    bool isPaying = false; // for the operation at pc, whose condition holds
    std::int64_t busyUntil = 0;
    std::int64_t worked = 0; // cycles of its spans of work
    std::int64_t blockedSince = -1;
    std::int32_t meetingTurn = -1;     // the meeting's phase that it waits for; -1: for none
    std::int32_t last = kNoSpan;       // its latest span that is no flight
    std::vector<std::int32_t> at = {}; // the trip, by trips
  };
  struct Signal {
    std::int32_t flights; // when so many have ended
    std::int32_t slot;
    std::int32_t arrivals;
  };
  struct QueueRun {
    std::vector<std::int32_t> flights = {}; // spans
    std::int32_t started = 0, ended = 0;
    std::int32_t entries = 0, entriesDone = 0;
    std::deque<std::pair<std::int32_t, std::int32_t>> open = {}; // entries up to here, flights
    std::deque<Signal> signals = {};
  };
  struct SlotRun {
    std::int32_t phase = 0;
    std::int64_t missing = 0;
    std::int64_t expected = 0, landed = 0;
    std::int32_t cause = kNoSpan; // what ended the phase before
  };
  struct MeetingRun {
    std::int32_t phase = 0, here = 0;
    std::int32_t cause = kNoSpan;
  };
  struct ResourceRun {
    std::int64_t freeAt = 0;
    std::int32_t holder = kNoSpan;
  };
  /// Ends come before wakes, so that who wakes finds what has ended.
  struct Event {
    std::int64_t time;
    bool wakes; // a role; else a flight ends
    std::int64_t number;
    std::int32_t span;

    bool operator<(const Event &other) const {
      return std::tie(other.time, other.wakes, other.number) < std::tie(time, wakes, number);
    }
  };
  enum class Step : std::uint8_t { Done, Blocked };
  /// A state that the run was in.
  struct Visit {
    std::int32_t trip;
    std::int64_t time;
    std::map<std::string, std::int64_t> busy;
  };

  void runRoles();
  Step step(RoleId role);
  bool goesOn(const RoleRun &run, const check::Instruction &instruction) const;
  void jump(RoleId role, const check::Instruction &instruction);
  bool passes(RoleId role, const Op &op);
  bool passesMeeting(RoleRun &run, RoleId role, const Op &op);
  std::int32_t causeOfPassing(const Op &op, std::int64_t use) const;
  void pay(RoleId role, const Op &op);
  void perform(RoleId role, const Op &op);

  void send(RoleId role, const Op &op);
  void takeOff(std::int32_t span);
  void land(std::int32_t span);
  void endOfQueue(QueueId id, std::int32_t span);
  void close(QueueRun &queue, std::int32_t entries);
  void signal(RoleId role, const Op &op, std::int32_t span);

  void count(std::int32_t slot, std::int64_t arrivals, std::int64_t expected, std::int64_t landed,
             std::int32_t cause);
  void push(Event event);
  Event pop();

  void lookForRepetition();
  void chooseOrigins();
  std::int64_t origin(RingId ring) const;
  std::vector<std::int64_t> state() const;
  void addQueueState(const QueueRun &queue, std::vector<std::int64_t> &state) const;
  void addBarrierState(std::vector<std::int64_t> &state) const;
  void addEvents(std::vector<std::int64_t> &state) const;
  std::int64_t fromOrigin(BarrierId barrier, std::int32_t slot) const;

  void fail(Diagnostic problem);
  void failStuck();
  void failOverfull(const Op &op, std::string_view what, const std::string &name);
  std::string withTrips() const;
  std::string describeStuck(RoleId role, const Op &op) const;

  std::int32_t add(Span span);
  Span spanOf(Span::Kind kind, RoleId role, const Op &op) const;
  std::int64_t freeFrom(std::int32_t resource) const;
  void take(std::int32_t resource, std::int64_t start, const Cost &cost, std::int32_t span);
  std::int32_t resourceOf(const Cost &cost);
  std::int64_t useOf(const Index &index) const;
  std::int64_t shownUseOf(const Op &op) const;
  std::int32_t slotOf(const Op &op) const { return model_.slotOf(op.barrier, useOf(op.index)); }
  std::int64_t warps(RoleId role) const { return program_[role].warps; }

  const check::Model &model_;
  const Program &program_;
  const std::vector<std::int32_t> &trips_;
  Timeline out_;
  std::int64_t now_ = 0;
  std::int64_t steps_ = 0, eventsMade_ = 0;
  std::vector<RoleRun> roles_;
  std::vector<std::int64_t> cursors_;
  std::vector<QueueRun> queues_;
  std::vector<SlotRun> slots_;
  std::vector<MeetingRun> meetings_;
  std::vector<ResourceRun> resources_;
  std::vector<Event> events_; // a heap
  std::optional<Diagnostic> problem_;
  TripsId watched_;
  std::vector<std::vector<std::int64_t>> tripStarts_;
  std::vector<RoleId> watchers_; // the roles that run the watched loop; empty where one does twice
  std::int32_t firstTrip_ = 0, lastTrip_ = 0; // of those that no condition tells from the others
  std::int32_t seenTrip_ = 0;
  std::vector<CursorId> origins_; // by ring: which cursor the others are measured by
  std::map<std::vector<std::int64_t>, Visit> visits_;
  std::optional<Repetition> repetition_;
};

} // namespace imbrex::schedule::timeline
