#pragma once

#include "backend/ir/kernel.h"
#include "backend/machine/machine.h"
#include "backend/passes/pipeline/read_schedule.h"
#include "backend/support/result.h"
#include "backend/target/codegen/code_graph.h"

#include <optional>
#include <string>
#include <string_view>

/// The last link from a proof to what runs. What is proven is Block IR's schedule
/// (passes/pipeline/read_schedule.h); the assembly must do the same: each copy, each end of a
/// group, each wait, each meeting and what is done to barriers, in that order, on every path
/// through the code.
///
///   Block IR                     what may happen             assembly
///   ring.drain [count = 1]       wait 1                      wait for all but 1
///   meet                         meet                        barrier
///   ring.copy %r, %more, …       copy copy, or nothing       jump to B where not %p
///                                                            copy
///                                                            copy
///   ring.commit                  commit                      B: end of a group
///
///   barrier.wait %empty          await 3, 4 or 5             C: ask, and jump to C where it is not
///                                                               over
///   barrier.expect %full         expect at 0, 1 or 2         announce bytes at 0, 1 or 2
///   ring.load_box %r, %full, …   box at 0, 1 or 2            bulk copy that ends at 0, 1 or 2
///
/// How these are spelled, the target knows (GpuTarget::ringsOf).
///
/// The left side is made of the very program that was proven, not of the kernel once more. Both are
/// graphs, and each path through the second must be one through the first: so LLVM may
/// unroll, peel and turn loops and merge branches. It may also wait and meet more often, and for
/// more. Copies whose conditions are the same are made together or not at all. A loop whose trips
/// are known runs; and each wait, each meeting, each end of a group and all that is done to
/// barriers must be somewhere. Of which array a barrier is, is compared where the code tells from
/// how it makes the address; what is announced and how many arrive, where they are constants.
///
/// What is computed is not compared: docs/scheduling.md, "What the comparison does not see", lists
/// it, each with what guards it otherwise.
namespace imbrex {

/// What may happen, in which order.
struct RingOrder {
  struct Step {
    std::optional<target::RingEvent> event = {}; ///< None: a place where paths meet.
    bool isCertain = false; ///< Outside of conditions and of loops without trips.
    std::vector<std::size_t> next = {};
  };
  static constexpr std::size_t kBeginning = 0, kEnd = 1; // of the steps
  std::vector<Step> steps;
};

/// Of the program that was proven of a kernel, as the kernel is lowered for a machine; nothing of
/// one without rings.
RingOrder ringOrderOf(const passes::pipeline::KernelSchedule &schedule, const ir::Kernel &kernel,
                      const machine::Machine &machine);

/// So many paths through an assembly are looked at, at most, each block with what may come next
/// being one: a kernel of two loops has some hundreds.
inline constexpr std::size_t kMaxPathStates = 20'000;

/// What an assembly does otherwise, with the label before which it does.
struct RingDifference {
  std::string what;
  bool isKnown = true; ///< Or there are too many paths to tell.
};
/// Nothing where all is the same.
std::optional<RingDifference> differenceFrom(const RingOrder &meant, const target::CodeGraph &code,
                                             std::size_t maxStates = kMaxPathStates);

/// The same as an error, of a kernel's code for a machine.
Result<void> checkRings(const RingOrder &meant, const target::CodeGraph &code,
                        std::string_view kernel, std::string_view machine,
                        std::size_t maxStates = kMaxPathStates);

} // namespace imbrex
