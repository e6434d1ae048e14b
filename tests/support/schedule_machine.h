#pragma once

#include "tests/support/schedule_oracle.h"
#include "tests/support/schedule_trace.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

/// The machine of schedule_oracle.h, one move at a time.
namespace imbrex::testing {

/// Where every agent, queue and barrier is, and what every cell holds; `Machine` knows where.
using MachineState = std::vector<std::uint32_t>;

struct Move {
  enum class Kind : std::uint8_t {
    Step,   // an agent does its next step
    Arrive, // a copy lands or a signal arrives
    Turn,   // a queue ends an operation, and where it is serial starts the next
  };
  Kind kind;
  std::uint32_t which; ///< The agent, the pending, the queue.
};

/// Of an operation that reads and writes asynchronously, the end is put off for as long as nothing
/// waits for it: a drain ends what it needs at the moment when it passes, and so does a signal.
/// Nothing is lost by that, since what ends late meets at least as many other accesses, and nothing
/// can see a write before its end but in a race with it. On a serial queue the next operation may
/// begin, and is never waited for perhaps, so that there a turn may also come unasked. A fence that
/// finds all visible does so before anything else: later it could only hide a mistake. Without the
/// reduction, all ends come unasked, and who waits for one goes on only then.
class Machine {
public:
  Machine(const Traces &traces, bool reduced);

  MachineState start() const;
  bool finished(const MachineState &state) const;

  /// Whether two agents are about to access a cell, one of them to write it.
  bool collides(const MachineState &state) const;

  /// A move that no other can prevent, and whose effect no other can see or change, now or later:
  /// it may be the only one that is tried.
  std::optional<Move> independentMove(const MachineState &state) const;

  void forEachMove(const MachineState &state, const std::function<void(const Move &)> &use) const;

  /// Makes a move that there is.
  std::optional<Failure> apply(MachineState &state, const Move &move) const;

private:
  struct Queue {
    std::uint32_t issued, ended;
  };
  struct Barrier {
    std::int32_t left;     ///< Arrivals that the phase still wants.
    std::int32_t expected; ///< Bytes.
    bool odd, initialised;
    bool unseen; ///< By the async proxy.
  };
  using Outcome = std::optional<Failure>;

  const Step *next(const MachineState &state, std::uint32_t agent) const;
  bool enabled(const MachineState &state, const Step &step) const;
  bool independent(const MachineState &state, const Step &step) const;
  bool pending(const MachineState &state, std::uint32_t which) const;
  bool mayEnd(const MachineState &state, const Step &step) const;
  bool mayTurn(const MachineState &state, std::uint32_t queue) const;
  Queue queue(const MachineState &state, std::uint32_t which) const;
  Barrier barrier(const MachineState &state, std::uint32_t which) const;
  void set(MachineState &state, std::uint32_t which, const Queue &queue) const;
  void set(MachineState &state, std::uint32_t which, const Barrier &barrier) const;

  Outcome step(MachineState &state, std::uint32_t agent) const;
  Outcome perform(MachineState &state, const Step &step) const;
  Outcome issue(MachineState &state, const Step &step) const;
  Outcome meet(MachineState &state, std::uint32_t agent, const Step &step) const;
  Outcome arrivePending(MachineState &state, std::uint32_t which) const;
  Outcome arrive(MachineState &state, const Step &step, std::int32_t count,
                 std::int64_t bytes) const;
  Outcome reach(const MachineState &state, const Step &step) const;
  void fence(MachineState &state) const;
  bool anyUnseen(const MachineState &state) const;
  void initialise(MachineState &state, const Step &step) const;

  Outcome begin(const MachineState &state, const Step &step) const;
  void end(MachineState &state, const Step &step) const;
  Outcome endOperations(MachineState &state, std::uint32_t queue, std::uint32_t until) const;
  bool anyInFlight(const MachineState &state, const std::function<bool(const Step &)> &holds) const;

  const Step &stepOf(const StepName &name) const { return traces_.agents[name.agent][name.step]; }
  const Step &operation(std::uint32_t queue, std::uint32_t number) const;

  void findPrivateCells();
  void findWhatHasProxies();
  void findOrderlyMeetings();

  const Traces &traces_;
  bool reduced_;
  std::vector<bool> private_; ///< By cell: one agent alone accesses it.
  std::vector<bool> orderly_; ///< By a meeting's number: nobody can miss the others.
  /// Whether the async proxy comes to the cell or the barrier at all: else none need ask what it
  /// sees.
  std::vector<bool> hasProxyCell_, hasProxyBarrier_;
  std::uint32_t queues_, barriers_, cells_, pendings_,
      words_; ///< Where each part of a state begins.
};

} // namespace imbrex::testing
