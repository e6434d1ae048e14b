#pragma once

#include "backend/schedule/check/model.h"
#include "backend/schedule/timeline/timeline.h"
#include "llvm/ADT/DenseMap.h"

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

/// One timed run of a program.
///
/// A run that comes, some trips later, to a state in which it was before goes on as it did from
/// there. So these trips need not be run again: as many of them as are alike are skipped, and the
/// clock, the places and all that was counted move on as if they had been. What a run takes follows
/// from how long it needs to repeat itself, and not from its trips.
namespace imbrex::schedule::timeline {

/// A run that has not repeated itself by then, in less than a second.
constexpr std::int64_t kMostSteps = 2'000'000;
/// Far more than a picture can show, in some ten megabytes.
constexpr std::int32_t kMostSpans = 200'000;
/// Numbers beyond are no longer exact everywhere that they are read.
constexpr std::int64_t kMostCycles = std::int64_t{1} << 53;

/// What a run keeps and counts.
struct SimulationLimits {
  /// That are kept, from the first on; trips are skipped behind them alone.
  std::int32_t spans = 0;
  std::int64_t steps = kMostSteps;
  bool skips = true;
  /// Between these cycles the time is counted apart for which resources are busy.
  std::int64_t windowBegin = 0, windowEnd = 0;
};

/// A run that is, some trips of a loop later, in the state in which it was before.
struct Repetition {
  std::int32_t trips;
  std::int64_t cycles;
  std::map<std::string, std::int64_t> busy; ///< Of these, cycles, by resource and "role NAME".
  /// The spans from this one on repeat themselves as well, in so many; none: some were skipped.
  std::int32_t firstSpan = 0, spans = 0;
};

class Simulation {
public:
  Simulation(const check::Model &model, const std::vector<std::int32_t> &trips,
             const SimulationLimits &limits = {});

  /// Notes when each role comes to each trip of this loop, the last time that it does, and ends the
  /// run when it repeats itself (`repetition`).
  void watch(TripsId loop);

  std::optional<Diagnostic> run();
  /// After a repetition: goes on for so many periods, and keeps their spans. Whether it could.
  bool keepPeriods(std::int32_t periods);

  Timeline takeTimeline();
  const std::vector<TimelineSpan> &spans() const { return out_.spans; }
  std::int64_t cycles() const { return now_; }
  std::int64_t steps() const { return steps_; }
  /// None: the run has gone on to its end.
  const std::optional<Repetition> &repetition() const { return repetition_; }
  /// Cycles so far, by resource and "role NAME".
  std::map<std::string, std::int64_t> busy() const;
  /// In the window of the limits, by resource.
  const std::vector<std::int64_t> &busyInWindow() const { return busyInWindow_; }
  /// By role and trip, as far as the role has come; empty where trips were skipped.
  const std::vector<std::vector<std::int64_t>> &tripStarts() const { return tripStarts_; }

private:
  struct RoleRun {
    std::int32_t pc = 0;
    bool isDone = false;
    bool isPaying = false; // for the operation at pc, whose condition holds
    std::int64_t busyUntil = 0;
    std::int64_t blockedSince = -1;
    std::int64_t meetingTurn = -1; // the meeting's phase that it waits for; -1: for none
    std::int32_t last = kNoSpan;   // its latest span that is no flight
    // By trips: the trip, how often the loop was entered, and when it was, if it is not left.
    std::vector<std::int32_t> at = {};
    std::vector<std::int64_t> entered = {}, enteredAt = {};
  };
  /// Something that goes on by itself.
  struct InFlightOp {
    RoleId role;
    const ScheduleOp *op;
    std::int64_t use = 0; // of the barrier that a copy ends at
    std::int64_t issued = 0, end = 0;
    std::int32_t span = kNoSpan;
  };
  struct Signal {
    std::int64_t flights; // when so many have ended
    BarrierId barrier;
    std::int64_t use;
    std::int64_t arrivals;
  };
  struct QueueRun {
    std::deque<std::int32_t> flights = {}; // that have not ended
    std::int64_t issued = 0, started = 0, ended = 0;
    std::int64_t entries = 0, entriesDone = 0;
    std::deque<std::pair<std::int64_t, std::int64_t>> open = {}; // entries up to here, flights
    std::deque<Signal> signals = {};
    std::int64_t lastEnd = 0; // of the one that has started last
    std::int32_t lastStarted = kNoSpan, lastEnded = kNoSpan;
  };
  struct SlotRun {
    std::int64_t phase = 0;
    std::int64_t missing = 0;
    std::int64_t expected = 0, landed = 0;
    std::int32_t cause = kNoSpan; // what ended the phase before
  };
  /// Which uses of a barrier's slots differ from those that nobody has touched: all before `over`
  /// are over, and none from `touched` on has begun.
  struct BarrierRun {
    std::int64_t over = 0, touched = 0;
  };
  struct MeetingRun {
    std::int64_t phase = 0;
    std::int64_t here = 0;
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
    std::int32_t which; // role or flight

    bool operator<(const Event &other) const {
      return std::tie(other.time, other.wakes, other.number) < std::tie(time, wakes, number);
    }
  };
  enum class Step : std::uint8_t { Done, Blocked };

  // All that is counted, in one row of numbers, so that some trips' share can be added again.
  using Tally = std::vector<std::int64_t>;
  enum WaitCount : std::int32_t { kCycles, kHeld, kTimes, kWaitCounts };

  /// A state that the run was in, but for what may go on while it repeats itself.
  struct Visit {
    std::int64_t time = 0;
    std::vector<std::int32_t> at = {};      // by role and trips
    std::vector<std::int64_t> entered = {}; // likewise
    std::vector<std::int64_t> cursors = {};
    Tally tally = {};
    std::int32_t span = 0, skips = 0;
  };
  using State = std::vector<std::int64_t>;
  /// The states at one loop's trips: the first of them all; then one at a time, which is replaced
  /// when twice as many have been looked at.
  struct Visits {
    std::map<State, Visit> all = {};
    std::size_t numbers = 0; // that these hold
    State state = {};        // the one
    Visit visit = {};
    std::int64_t looks = 0, replaceAt = 1;
  };

  void goOn();
  void runRoles();
  Step step(RoleId role);
  bool goesOn(const RoleRun &run, const check::Instruction &instruction) const;
  void jump(RoleId role, const check::Instruction &instruction);
  void noteTest(RoleId role, TripsId trips, bool enters);
  bool passes(RoleId role, const ScheduleOp &op);
  bool passesMeeting(RoleRun &run, RoleId role, const ScheduleOp &op);
  std::int32_t causeOfPassing(const ScheduleOp &op, std::int64_t use) const;
  void pay(RoleId role, const ScheduleOp &op);
  void perform(RoleId role, const ScheduleOp &op);

  void send(RoleId role, const ScheduleOp &op);
  void takeOff(std::int32_t flight);
  void land(std::int32_t flight);
  void endOfQueue(QueueId id, const InFlightOp &flight);
  void close(QueueRun &queue, std::int32_t entries);
  void signal(RoleId role, const ScheduleOp &op, std::int32_t span);

  /// Who arrives or lands, for the case that it is one too many.
  struct Arrival {
    const ScheduleOp *op;
    std::int32_t span;
    std::int64_t arrivals = 0, expected = 0, landed = 0;
  };
  void count(BarrierId barrier, std::int64_t use, const Arrival &arrival);
  void push(Event event);
  Event pop();

  // What repeats itself (repetition.cpp).
  void lookForRepetition();
  void lookAt(TripsId loop);
  Visit *earlierLike(Visits &visits, State state);
  void studyLoops();
  void chooseOrigins();
  std::int64_t origin(RingId ring) const;
  Visit visitNow() const;
  Tally tallyNow() const;
  State state(TripsId loop) const;
  void addQueueState(const QueueRun &queue, State &state) const;
  void addBarrierState(State &state) const;
  void addEvents(State &state) const;
  std::int64_t timesAlike(const Visit &visit) const;
  bool repeats(const Visit &visit) const;
  std::int32_t tripsOfWatched(const Visit &visit) const;
  std::int64_t timesInWindow(std::int64_t period) const;
  void skip(const Visit &visit, std::int64_t times);
  void moveRings(const std::vector<std::int64_t> &uses);
  std::size_t placeOf(std::size_t role, std::size_t trips) const {
    return role * program_.trips.size() + trips;
  }

  void fail(Diagnostic problem);
  void failStuck();
  void failOverfull(const ScheduleOp &op, std::string_view what, const std::string &name);
  std::string withTrips() const;
  std::string describeStuck(RoleId role, const ScheduleOp &op) const;

  std::int32_t add(const TimelineSpan &span);
  TimelineSpan *kept(std::int32_t number);
  TimelineSpan spanOf(TimelineSpan::Kind kind, RoleId role, const ScheduleOp &op) const;
  std::int64_t freeFrom(std::int32_t resource) const;
  void take(std::int32_t resource, std::int64_t start, const Cost &cost, std::int32_t span);
  std::int32_t resourceOf(const ScheduleOp &op);
  std::int64_t useOf(const Index &index) const;
  std::int64_t shownUseOf(const ScheduleOp &op) const;
  std::int64_t warps(RoleId role) const { return program_[role].warps; }
  SlotRun &slotAt(BarrierId barrier, std::int64_t use) {
    return slots_[static_cast<std::size_t>(model_.slotOf(barrier, use))];
  }

  // Places in a tally.
  std::size_t busyPlace(std::size_t resource) const { return resource; }
  std::size_t workPlace(std::size_t role) const { return resourceCount_ + role; }
  std::size_t insidePlace(std::size_t role, std::size_t trips) const {
    return resourceCount_ + roles_.size() + placeOf(role, trips);
  }
  std::size_t waitPlace(std::size_t instruction, bool isForResource) const {
    return insidePlace(roles_.size(), 0) + (2 * instruction + isForResource) * kWaitCounts;
  }
  std::size_t instructionAt(std::size_t role, std::int32_t pc) const {
    return firstInstruction_[role] + static_cast<std::size_t>(pc);
  }
  void noteWait(RoleId role, const TimelineSpan &span);
  std::vector<RoleUse> roleUses() const;
  std::vector<LoopUse> loopUses() const;

  const check::Model &model_;
  const Program &program_;
  const std::vector<std::int32_t> &trips_;
  SimulationLimits limits_;
  Timeline out_;
  std::int32_t spansMade_ = 0, keepFrom_ = 0;
  std::int64_t now_ = 0;
  std::int64_t steps_ = 0, eventsMade_ = 0;
  std::vector<RoleRun> roles_;
  std::vector<std::int64_t> cursors_;
  std::vector<QueueRun> queues_;
  std::vector<SlotRun> slots_;
  std::vector<BarrierRun> barriers_;
  std::vector<MeetingRun> meetings_;
  std::vector<ResourceRun> resources_;
  llvm::DenseMap<const ScheduleOp *, std::int32_t> resourceOf_; // as they are come to
  std::vector<InFlightOp> flights_;
  std::vector<std::int32_t> freeFlights_;
  std::vector<Event> events_; // a heap
  std::optional<Diagnostic> problem_;

  std::size_t resourceCount_ = 0;
  std::vector<std::size_t> firstInstruction_; // by role
  Tally tally_;
  std::vector<std::int32_t> waitsSeen_; // places of waits, in the order in which they came first
  std::vector<std::int64_t> busyInWindow_;
  std::int64_t longestBusy_ = 0;

  TripsId watched_;
  std::vector<std::vector<std::int64_t>> tripStarts_;
  bool runsTwice_ = false;    // a role runs the watched loop twice
  std::vector<RoleId> front_; // by trips: the first role that runs the loop
  // By trips: of those that no condition tells from the others.
  std::vector<std::int64_t> firstTrip_, lastTrip_;
  std::vector<bool> hasBegun_; // by trips: a trip since the last look
  bool anyBegun_ = false;
  std::vector<std::vector<bool>> isInside_; // by role, of pairs of trips: one loop in another
  std::vector<CursorId> origins_;           // by ring: which cursor the others are measured by
  std::vector<Visits> visits_;              // by trips
  std::int64_t looked_ = 0;                 // numbers of states
  std::int32_t skips_ = 0;
  std::optional<Repetition> repetition_;
};

} // namespace imbrex::schedule::timeline
