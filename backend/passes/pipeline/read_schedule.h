#pragma once

#include "backend/ir/kernel.h"
#include "backend/machine/machine.h"
#include "backend/schedule/program/program.h"
#include "backend/support/diagnostics.h"

#include <cstdint>
#include <optional>
#include <vector>

/// The way back from a kernel with rings to the abstract program that its threads run: what is
/// proven is read off the code that is compiled, whoever wrote it, and nothing else is trusted.
///
///   for %i = low … high {                   for %k {
///     ring.drain 1; meet                      drain %copies to 1
///                                             meet %all
///     %more = gt (high - %i), 2 steps         if left %k > 2 {
///     ring.copy %r, %more, …                    issue %copies writes %r(%r.filled, own)
///                                               advance %r.filled
///                                             }
///     ring.commit                             commit %copies
///     %x = ring.slot %r                       access reads %r(%r.taken)
///     dot …, %x, …                            advance %r.taken
///   }                                       }
///
/// Two agents stand for all threads. These differ in nothing, each waits for its own copies alone,
/// and what two of them do is ordered by meetings, in which all take part: what can go wrong
/// between any two goes wrong between the first two. Where one thread starts loads of boxes for
/// all, it is one of the two, and a role of its own. Of a kernel with roles two stand for those
/// that compute, and one for the other role. Where the second half of the warps runs a meeting
/// behind the first, a role of one agent stands for each half: what needs one meeting within a half
/// may need two between halves. Roles count the same trips where their loops go over the same
/// numbers (same_values.h).
///
/// What decides whether code runs is read where a proof depends on it, the conditions of copies.
/// For the rest all is taken to be possible: each body of an `if`, and what stands behind an op
/// that may leave the body, runs or does not, and a `while` runs any number of times. That takes in
/// all that the kernel does.
namespace imbrex::passes::pipeline {

bool hasRings(const ir::Kernel &kernel);
/// Whether a loop multiplies on matrix units: then a timeline has something to tell.
bool multipliesInLoops(const ir::Kernel &kernel);

/// What a schedule is read for.
enum class ReadFor : std::uint8_t {
  /// With an access to nothing where an assertion may stop the block: a proof need not know, as
  /// nothing follows, but code may end there.
  Proof,
  /// With what the operations cost (loop_costs.h), those as well that only compute or that use
  /// global memory themselves; and loops that matrix units multiply in, though they use no ring.
  Timeline,
};

/// What of a kernel a number of trips counts.
enum class TripsKind : std::uint8_t {
  Loop,
  LoopWithTrips,    ///< Its constants say that there are some,
  LoopWithoutTrips, ///< or none, so that code may leave it out.
  Rest,             ///< Behind an op that may leave the body.
  Branch,
};

/// The program of a kernel, and what in the kernel its parts are. Both roads from it, the proof and
/// the comparison with the assembly (validate/ring_order.h), start here: no one else reads the
/// order of a kernel's synchronisation.
struct KernelSchedule {
  schedule::Program program;
  std::vector<ir::ValueId> rings = {};    ///< By buffer.
  std::vector<ir::ValueId> barriers = {}; ///< By barrier.
  std::vector<TripsKind> trips = {};      ///< By number of trips.
  bool areHalves = false; ///< The roles are halves of the warps: they differ in meetings alone.
  struct Loop {
    const ir::Op *op;
    schedule::TripsId trips;
  };
  std::vector<Loop> loops = {}; ///< Those of the kernel that are loops here, as they come.
};

/// Nothing, and an error, where a condition or a way out cannot be read.
std::optional<KernelSchedule> readSchedule(const ir::Kernel &kernel,
                                           const machine::Machine &machine,
                                           Diagnostics &diagnostics, ReadFor what = ReadFor::Proof);

} // namespace imbrex::passes::pipeline
