#pragma once

#include "tests/support/schedule_trace.h"

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <set>
#include <string>

/// What can go wrong in a schedule, by trying all orders in which its agents and asynchronous
/// operations can run: no clocks, no edges, only a machine that does what the operations say. It is
/// what the checker, which reasons, is compared with, and shares no code with it.
///
/// The machine
///   An operation on memory takes time: from its issue (on a serial queue: from the end of the one
///   before) until it ends, at any later moment; `access` takes none. A read must find what its
///   index wants when it begins, and what is written is there when the write ends.
///   A wait passes when the parity of the barrier's phase is not the awaited one, so that it also
///   passes two phases late or early, as on the machine. An arrival counts for the phase that there
///   is. A signal arrives at any moment after the operations before it have ended, and nothing
///   behind it waits for that.
///   Copies and queues of the async proxy see a plain write to shared memory, and that a barrier
///   was made, from the next fence on, whoever executes it, and never before. So they find what is
///   old unless the fence is between the two in every order, which is what a proxy fence is for: it
///   orders an access of the other proxy behind the write where it lies on the way from one to the
///   other. Tensor memory and registers have no proxies.
///
/// Not in it: other memory that lags behind, registers as a budget, and an order of the slots' use
/// other than the indices.
namespace imbrex::testing {

enum class Failure : std::uint8_t {
  Deadlock,      // some agent is left and nothing can happen any more
  Race,          // a write and another access of one cell at the same time
  Value,         // a read finds another content than it wants
  OverArrival,   // more arrivals in a phase than it wants
  Uninitialised, // a barrier is used before it was made
  Parties,       // a meeting's number is in use by another meeting with other parties
  Unfenced,      // the async proxy comes to what it may not see yet
};

std::string toText(Failure failure);
std::ostream &operator<<(std::ostream &out, const std::set<Failure> &failures);

struct ExploreOptions {
  std::size_t states = 2'000'000; ///< Give up after so many.
  bool untilFirst = false;        ///< Stop at the first failure.
  bool reduced = true; ///< Leave out orders that can show nothing new; all are tried to test that.
};

struct Exploration {
  std::set<Failure> failures =
      {}; ///< Of any order; what comes after an order's first is not tried.
  std::size_t states = 0;
  bool complete = true; ///< All orders were tried, or the first failure was all that was asked for.
};

Exploration explore(const schedule::Program &program, const TripCount &count,
                    const ExploreOptions &options = {});

} // namespace imbrex::testing
