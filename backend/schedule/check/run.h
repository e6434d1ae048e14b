#pragma once

#include "backend/schedule/check/check.h"
#include "backend/schedule/check/clocks.h"
#include "backend/schedule/check/model.h"
#include "backend/schedule/check/trace.h"
#include "backend/schedule/check/trips.h"

#include <compare>
#include <vector>

/// One run of a program on an abstract machine, up to the next fork.
namespace imbrex::schedule::check {

/// When an access is over for certain: when a clock shows `time` on `axis`; -1: it is, for all whom
/// that can concern.
struct Event {
  std::int32_t axis = -1;
  std::int32_t time = 0;
};

/// An access that later ones must be held against.
struct RecordedAccess {
  Event end = {};
  const ScheduleOp *op = nullptr;
  std::int32_t agent = 0;
  BufferId buffer = {};
  std::int64_t use = 0; ///< The cursor's, or 0.
  bool hasUse = false;
  bool isAsync = false; ///< Through the async proxy.
};

struct Cell {
  RecordedAccess write = {}; ///< `op` is null until something was written.
  /// By queues, since then; one for each axis. What agents read themselves are claims.
  llvm::SmallVector<RecordedAccess, 0> reads = {};
};

struct QueueRun {
  std::int32_t ops = 0; ///< Issued so far.
  std::int64_t entries = 0;
  /// Behind which entry how many ops have been issued, newest last: as far back as drains ask.
  llvm::SmallVector<std::pair<std::int64_t, std::int32_t>, 4> ends = {};
};

/// Questions about trips, so that roles take turns. A loop of one role alone holds it back where
/// the others would go on round and round: first counts what all of them ask.
struct Questions {
  std::int64_t ofAll = 0, own = 0;
  friend auto operator<=>(const Questions &, const Questions &) = default;
};

struct AgentRun {
  std::int32_t pc = 0;
  bool isDone = false;
  std::int32_t meetingTurn = -1; ///< The meeting's phase that it waits for; -1: for none.
  Questions asked = {};
  Position at = {};
};

struct SlotRun {
  std::int32_t phase = 0; ///< That is not over.
  std::int64_t missing = 0;
  std::int64_t expected = 0, landed = 0; ///< Bytes of this phase.
  /// Of this phase, without an arrival: those that nobody has arrived behind.
  llvm::SmallVector<RecordedAccess, 0> loneExpects = {};
  bool isMade = true;
  Event made = {};
};

struct MeetingRun {
  std::int32_t phase = 0;
  std::int32_t here = 0;
  MeetingId which = {};
};

/// By place in a clock's row but for claims, what all roles know that are not done.
using Horizon = std::vector<std::int32_t>;

/// No run takes more instructions: a loop of so many trips is not for running.
constexpr std::int64_t kMostLooks = 2'000'000;
/// Nor do a run and all that it forks into take more memory: a clock has a number for each slot, so
/// that those of deep rings grow with the square of their slots.
constexpr std::int64_t kMostBytes = 256 << 20;

/// The state of a run. Copied at a fork.
class Run {
public:
  Run(const Model &model, const TripCount *fixedTrips);
  /// Keeps each step from now on; a copy of the run goes on with the same list.
  void traceInto(std::vector<TraceStep> &trace) { trace_ = &trace; }

  enum class Outcome : std::uint8_t {
    Forks, // a number of trips has to be decided
    Ends,  // all roles are done
    Fails, // findings were made
    Tires, // it has become too long
  };
  Outcome proceed();
  void decide(bool oneMore) { trips_.decide(trips_.open(), oneMore); }
  /// Whose number that is.
  TripsId asked() const { return trips_.instances()[trips_.open()].trips; }
  /// Drops what was decided of loops that no role comes to again.
  void forgetTrips();
  /// Drops what all that it could concern know to be over: it can hold up nobody any more.
  void forgetKnown();

  std::int64_t steps() const { return steps_; }
  /// What a copy of it takes, but for its clocks; and what these take, of all copies together.
  std::int64_t bytes() const;
  std::int64_t clockBytes() const { return clocks_.bytes(); }
  /// Instructions that were looked at, loops and conditions among them.
  std::int64_t looks() const { return looks_; }
  /// What is wrong, with the trips of this run and all its steps.
  std::vector<Finding> explained(const std::vector<TraceStep> &trace) const;

private:
  friend class ClockPlaces;
  friend class Listing;
  friend class SignatureMaker;

  bool isTooLong() const { return looks_ > kMostLooks || clockBytes() > kMostBytes; }
  enum class Step : std::uint8_t { Done, Blocked, Asks, Ended };
  Step step(std::int32_t agent);
  Step control(std::int32_t agent, const Instruction &instruction);
  std::optional<bool> holds(const Guard &guard, const Position &at);
  Step perform(std::int32_t agent, const ScheduleOp &op);
  Step wait(std::int32_t agent, const ScheduleOp &op);
  Step meet(std::int32_t agent, const ScheduleOp &op);
  void endMeeting(std::int32_t number);
  void gather(std::int32_t slot, std::int32_t agent, const ScheduleOp &op, const Event *alsoKnown);
  void arrive(std::int32_t agent, const ScheduleOp &op);
  void expectMore(SlotRun &run, std::int32_t agent, const ScheduleOp &op);
  void drain(std::int32_t agent, const ScheduleOp &op);
  void issue(std::int32_t agent, const ScheduleOp &op);
  void copy(std::int32_t agent, const ScheduleOp &op);
  void close(QueueRun &queue, const ScheduleOp &op);
  void make(std::int32_t agent, const ScheduleOp &op);

  void touch(std::int32_t agent, const ScheduleOp &op, Event end, const Event *alsoKnown);
  void readCell(std::int32_t cell, const RecordedAccess &read, const Event *alsoKnown);
  void writeCell(std::int32_t cell, const RecordedAccess &write, const Event *alsoKnown);
  bool isBefore(const RecordedAccess &earlier, const RecordedAccess &later,
                const Event *alsoKnown) const;
  void checkProxy(const RecordedAccess &earlier, const RecordedAccess &later);

  bool mayArrive(std::int32_t agent, const ScheduleOp &op, std::int32_t slot);
  void checkMade(std::int32_t agent, const ScheduleOp &op, std::int32_t slot);
  void endPhase(std::int32_t slot, const ScheduleOp &op);
  bool isReadOver(const RecordedAccess &read, std::int32_t cell) const;
  bool isWriteOver(const RecordedAccess &write, std::int32_t cell) const;
  bool isRead(std::int32_t cell) const;
  /// The agent's: of now on, and not of the time before.
  void claim(std::int32_t claim, RecordedAccess touch);
  RecordedAccess &claimed(std::int32_t claim) { return claims_[static_cast<std::size_t>(claim)]; }
  const RecordedAccess &claimed(std::int32_t claim) const {
    return claims_[static_cast<std::size_t>(claim)];
  }
  /// Whether the async proxy needs a fence to see what this has written.
  bool isSeenByProxy(const RecordedAccess &write) const {
    return model_->hasProxies && !write.isAsync;
  }
  Horizon horizon() const;
  void checkEnd();
  void reportStuck();

  // Clocks are rows: what an agent has seen, what a slot's phase has gathered and what the last one
  // had, what a meeting has.
  std::int32_t *ownClock(std::int32_t row) { return clocks_.own(row); }
  const std::int32_t *clock(std::int32_t row) const { return clocks_.at(row); }
  std::int32_t rowOfPhase(std::int32_t slot) const { return agents() + slot; }
  std::int32_t rowOfLast(std::int32_t slot) const { return agents() + model_->slots + slot; }
  std::int32_t rowOfMeeting(std::int32_t number) const {
    return agents() + 2 * model_->slots + number;
  }
  std::int32_t pcOf(std::int32_t agent) const {
    return agents_[static_cast<std::size_t>(agent)].pc;
  }
  std::int32_t agents() const { return static_cast<std::int32_t>(model_->agents.size()); }
  void join(std::int32_t into, std::int32_t from);

  std::int64_t useOf(std::int32_t agent, const Index &index) const;
  std::int64_t &cursor(std::int32_t agent, CursorId id) {
    return cursors_[static_cast<std::size_t>(agent) * model_->program.cursors.size() + id.index()];
  }
  QueueRun &queue(std::int32_t agent, QueueId id) {
    return queues_[static_cast<std::size_t>(model_->queueOf(agent, id))];
  }

  template <class... Args>
  void find(Diag kind, const ScheduleOp &op, const Args &...args) {
    findings_.push_back({.what = diagnostic(kind, op.where, args...)});
  }
  std::string nameOf(std::int32_t agent) const;
  std::string describeTrips() const;
  std::string describe(const RecordedAccess &touch) const;
  std::string hintForWrites(const RecordedAccess &write, const RecordedAccess &other) const;
  std::string describeSlot(std::int32_t slot) const;
  std::string describeStuck(std::int32_t agent, const ScheduleOp &op) const;
  std::string lineOf(const ScheduleOp &op) const;

  const Model *model_;
  std::size_t width_;
  TripDecisions trips_;
  std::vector<AgentRun> agents_;
  std::vector<std::int64_t> cursors_; // agent by agent
  std::vector<QueueRun> queues_;
  std::vector<SlotRun> slots_;
  std::vector<MeetingRun> meetings_;
  std::vector<Cell> cells_;
  std::vector<RecordedAccess> claims_; // of which later ones are held; no `op`: nobody is
  Clocks clocks_;
  std::vector<Finding> findings_;
  std::int64_t steps_ = 0;
  std::int64_t looks_ = 0;
  std::vector<TraceStep> *trace_ = nullptr;
};

} // namespace imbrex::schedule::check
