#pragma once

#include "backend/schedule/program.h"

#include <cstdint>
#include <vector>

/// A program made ready to be run: bodies without nesting, agents, memory and the axes of a clock.
namespace imbrex::schedule::check {

enum class Control : std::uint8_t {
  Do,    // the operation
  Enter, // a loop: at its first trip
  Test,  // go to `jump` where there is no trip more
  Back,  // to the next trip, and to `jump`
  Guard, // go to `jump` where the condition does not hold
  End,
};

struct Instruction {
  Control control;
  const Op *op;
  std::int32_t jump = 0;
};

/// A warp of a role, or several that nothing tells apart: a role's second agent stands for all its
/// warps but the first, for any two of them are to each other as those two are.
struct Agent {
  RoleId role;
  std::int32_t number; ///< In its role; the first it stands for.
  std::int32_t warps = 1;
};

/// A piece of memory that accesses touch whole or not at all.
struct CellRange {
  std::int32_t first, count;
};

/// The axes of a clock, in this order: agents, then each agent's queues, then the slots of
/// barriers, then the machine's numbers of meetings.
class Model {
public:
  explicit Model(const Program &program);

  const Program &program;
  std::vector<std::vector<Instruction>> code; ///< By role.
  std::vector<Agent> agents;
  std::int32_t axes = 0;
  std::int32_t cells = 0;
  std::int32_t slots = 0;              ///< Of all barriers.
  std::vector<std::int32_t> meetingOf; ///< By meeting: which of the distinct numbers it has.
  std::int32_t meetingNumbers = 0;
  std::vector<bool> isMade;                 ///< By barrier: whether an op makes it.
  bool hasProxies = false;                  ///< Whether anything goes through the async proxy.
  std::vector<std::int32_t> deepest;        ///< By queue: the largest count that a drain asks for.
  std::vector<std::int32_t> lowest;         ///< By cursor: the least offset that an index adds.
  std::vector<bool> resets;                 ///< By ring: whether a cursor goes back in it.
  std::vector<std::int32_t> largest;        ///< By trips: above this, all are alike to the guards.
  std::vector<std::vector<bool>> usesTrips; ///< By role and trips: in a loop or a guard.
  std::vector<std::vector<bool>> loopsOver; ///< By role and trips.

  std::int32_t axisOf(std::int32_t agent, QueueId queue) const {
    return queueAxes_[static_cast<std::size_t>(agent)] + queuePlace_[queue.index()];
  }
  std::int32_t slotOf(BarrierId barrier, std::int64_t use) const;
  std::int32_t axisOfSlot(std::int32_t slot) const { return firstSlotAxis_ + slot; }
  std::int32_t axisOfMeeting(std::int32_t number) const { return firstSlotAxis_ + slots + number; }
  BarrierId barrierOf(std::int32_t slot) const {
    return slotBarrier_[static_cast<std::size_t>(slot)];
  }
  std::int32_t numberOfSlot(std::int32_t slot) const {
    return slot - firstSlot_[barrierOf(slot).index()];
  }
  /// Its place among the queues of all agents, and how many those are.
  std::int32_t queueOf(std::int32_t agent, QueueId queue) const {
    return axisOf(agent, queue) - static_cast<std::int32_t>(agents.size());
  }
  std::int32_t queues() const { return firstSlotAxis_ - static_cast<std::int32_t>(agents.size()); }

  CellRange cellsOf(const Access &access, std::int64_t use, std::int32_t agent) const;
  /// Whether the agent has an operation that may touch the cell.
  bool comesTo(std::int32_t agent, std::int32_t cell) const {
    return visits_[static_cast<std::size_t>(agent)][static_cast<std::size_t>(cell)];
  }

private:
  void flatten(const std::vector<Op> &body, std::vector<Instruction> &code) const;
  void study(const std::vector<Op> &body, RoleId role);
  void placeAgents();
  void placeBarriers();
  void placeMemory();
  void placeVisits();

  std::vector<std::int32_t> queueAxes_;  // by agent: the first of its queues
  std::vector<std::int32_t> queuePlace_; // by queue: its place among those of its role
  std::int32_t firstSlotAxis_ = 0;
  std::vector<std::int32_t> firstSlot_; // by barrier
  std::vector<BarrierId> slotBarrier_;
  // By buffer: the cells of each part of each slot, agent after agent where each has its own.
  std::vector<std::vector<CellRange>> parts_;
  std::vector<std::vector<bool>> visits_; // by agent and cell
};

/// The slot of a use, for uses below 0 too.
std::int32_t slotOfUse(std::int64_t use, std::int32_t depth);
/// How often the ring has been gone round before a use.
std::int64_t roundOfUse(std::int64_t use, std::int32_t depth);

} // namespace imbrex::schedule::check
