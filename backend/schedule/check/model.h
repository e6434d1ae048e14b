#pragma once

#include "backend/schedule/program/program.h"

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
  const ScheduleOp *op;
  std::int32_t jump = 0;
};

/// A warp of a role, or several that nothing tells apart: a role's second agent stands for all its
/// warps but the first, for any two of them are to each other as those two are.
struct Agent {
  RoleId role;
  std::int32_t number; ///< In its role; the first it stands for.
  std::int32_t warps = 1;
};

/// Where in its code a role asks for some trips for the last time; -1: nowhere.
struct LastTripUses {
  std::int32_t forLoop = -1;  ///< To begin one over them.
  std::int32_t forCount = -1; ///< How many they are, for a condition.
  std::int32_t forAny = -1;   ///< In a loop over them, or for a condition.
  /// It does so in a loop over others that they do not depend on: then any time may be one more.
  bool isRepeated = false;
};

/// A piece of memory that accesses touch whole or not at all.
struct CellRange {
  std::int32_t first, count;
};

/// What an agent does over and over, and what others must know to be over: it reads a cell by
/// itself, which holds up whoever writes the cell next, or has passed a wait, which holds up the
/// end of the phase.
///
/// A claim has an axis of its own. On one for all that an agent does, a state would tell in which
/// order it came to the slots of several rings: of two rings of n slots in loops in each other
/// there are as many orders as ways to choose n out of 2 n, and nothing depends on them.
struct Claim {
  std::int32_t agent;
  const ScheduleOp *op; ///< One that makes it: a wait, or a read.
  std::int32_t on;      ///< The slot, or the cell.
  BufferId buffer = {}; ///< That it reads.
};

/// What a model is for. One for timing has bodies, slots and meetings, but neither memory nor axes.
enum class Purpose : std::uint8_t { Proof, Timing };

/// The axes of a clock, in this order: agents, then each agent's queues, then the slots of
/// barriers, then the machine's numbers of meetings. Behind them the same once more for what the
/// async proxy may see, if the program has any; then the claims.
class Model {
public:
  explicit Model(const Program &program, Purpose purpose = Purpose::Proof);

  const Program &program;
  std::vector<std::vector<Instruction>> code; ///< By role.
  std::vector<Agent> agents;
  std::int32_t axes = 0;  ///< Without those of claims, and once.
  std::int32_t width = 0; ///< Of a clock.
  std::vector<Claim> claims;
  std::int32_t cells = 0;
  std::int32_t slots = 0;              ///< Of all barriers.
  std::vector<std::int32_t> meetingOf; ///< By meeting: which of the distinct numbers it has.
  std::int32_t meetingNumbers = 0;
  std::vector<std::vector<TripsId>> tripsIn; ///< By trips: those within them, at any depth.
  std::vector<bool> isOfAll;                 ///< By trips: whether all roles with loops take them.
  std::vector<bool> isMade;                  ///< By barrier: whether an op makes it.
  bool hasProxies = false;                   ///< Whether anything goes through the async proxy.
  std::vector<std::int32_t> deepest;         ///< By queue: the largest count that a drain asks for.
  std::vector<std::int32_t> lowest;          ///< By cursor: the least offset that an index adds.
  std::vector<bool> resets;                  ///< By ring: whether a cursor goes back in it.
  std::vector<bool> hasParts;                ///< By buffer: whether an access names a part of it.
  /// By trips: beyond so many of all, or so many done, all are alike to the guards.
  std::vector<std::int32_t> mostCount, mostDone;
  std::vector<std::vector<LastTripUses>> asks; ///< By role and trips.

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
  /// What an agent may still do that is at a place in its code: read the cell or write it, wait for
  /// the barrier or end a phase of it.
  bool reads(std::int32_t agent, std::int32_t pc, std::int32_t cell) const {
    return pc <= visits(agent, cell).readsUntil;
  }
  bool writes(std::int32_t agent, std::int32_t pc, std::int32_t cell) const {
    return pc <= visits(agent, cell).writesUntil;
  }
  bool awaits(std::int32_t agent, std::int32_t pc, BarrierId barrier) const {
    return pc <= at(agent, barrier).awaitsUntil;
  }
  bool ends(std::int32_t agent, std::int32_t pc, BarrierId barrier) const {
    return pc <= at(agent, barrier).endsUntil;
  }

  std::int32_t axisOfClaim(std::int32_t claim) const { return firstClaimAxis_ + claim; }
  /// By number.
  const std::vector<std::int32_t> &claimsOnCell(std::int32_t cell) const {
    return cellClaims_[static_cast<std::size_t>(cell)];
  }
  const std::vector<std::int32_t> &claimsOnSlot(std::int32_t slot) const {
    return slotClaims_[static_cast<std::size_t>(slot)];
  }
  /// Of those, the agent's.
  std::int32_t claimOf(std::int32_t agent, const std::vector<std::int32_t> &claims) const;

private:
  void flatten(const std::vector<ScheduleOp> &body, RoleId role, std::vector<TripsId> &around);
  LastTripUses &asksFor(RoleId role, TripsId trips, const std::vector<TripsId> &around);
  void study(const std::vector<ScheduleOp> &body);
  void findCommonTrips();
  void placeAgents();
  void placeBarriers();
  void placeMemory();
  void placeVisits();
  void placeClaims();
  std::int32_t addClaim(const Claim &claim);
  std::int32_t partsOf(BufferId buffer) const {
    return hasParts[buffer.index()] ? program[buffer].parts : 1;
  }

  // Until an agent is there in its code, it may do so: the op's place, or the end of all loops
  // around it.
  struct Visits {
    std::int32_t readsUntil = -1, writesUntil = -1;
    const ScheduleOp *readsItself = nullptr; // an op of the agent and not of its queues or copies
    BufferId buffer = {};                    // which that reads
  };
  struct Uses {
    std::int32_t awaitsUntil = -1, endsUntil = -1;
    const ScheduleOp *awaits = nullptr;
  };
  const Visits &visits(std::int32_t agent, std::int32_t cell) const {
    return visits_[static_cast<std::size_t>(agent * cells + cell)];
  }
  const Uses &at(std::int32_t agent, BarrierId barrier) const {
    return uses_[static_cast<std::size_t>(agent) * program.barriers.size() + barrier.index()];
  }
  void visit(std::int32_t agent, const ScheduleOp &op, std::int32_t until);

  std::vector<std::int32_t> queueAxes_;  // by agent: the first of its queues
  std::vector<std::int32_t> queuePlace_; // by queue: its place among those of its role
  std::int32_t firstSlotAxis_ = 0;
  std::vector<std::int32_t> firstSlot_; // by barrier
  std::vector<BarrierId> slotBarrier_;
  // By buffer: the cells of each part of each slot, agent after agent where each has its own.
  std::vector<std::vector<CellRange>> parts_;
  std::vector<Visits> visits_; // by agent and cell
  std::vector<Uses> uses_;     // by agent and barrier
  std::vector<std::vector<std::int32_t>> cellClaims_, slotClaims_;
  std::int32_t firstClaimAxis_ = 0;
};

/// The slot of a use, for uses below 0 too.
std::int32_t slotOfUse(std::int64_t use, std::int32_t depth);
/// How often the ring has been gone round before a use.
std::int64_t roundOfUse(std::int64_t use, std::int32_t depth);

} // namespace imbrex::schedule::check
