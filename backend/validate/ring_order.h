#pragma once

#include "backend/ir/kernel.h"
#include "backend/machine/machine.h"
#include "backend/support/result.h"
#include "backend/target/codegen/code_graph.h"

#include <optional>
#include <string>
#include <string_view>

/// The last link from a proof to what runs. What is proven is Block IR's schedule
/// (passes/pipeline/read_schedule.h); the assembly must do the same: each copy, each end of a
/// group, each wait, each meeting and what is done to barriers, in that order, on every way through
/// the code.
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
/// Both are graphs, and each way through the second must be one through the first: so LLVM may
/// unroll, peel and turn loops and merge branches. It may also wait and meet more often, and for
/// more. Copies whose conditions are the same are made
/// together or not at all; whether one set of conditions implies another is not asked. How often a
/// loop runs is not compared, but that one runs whose trips are known is; and each wait, each
/// meeting, each end of a group and all that is done to barriers must be somewhere.
///
/// Of which array a barrier is, the code says where that can be told from how it makes the address;
/// which one of them, and which phase's parity it asks for, an index says that is computed as it
/// goes, and is not compared. What is announced and how many arrive are compared where they are
/// constants. Where slots are read is not compared: nothing tells such a load from others.
namespace imbrex {

/// What may happen, in which order.
struct RingOrder {
  struct Step {
    std::optional<target::RingEvent> event = {}; ///< None: a place where ways meet.
    bool isCertain = false; ///< Outside of conditions and of loops without trips.
    std::vector<std::size_t> next = {};
  };
  static constexpr std::size_t kBeginning = 0, kEnd = 1; // of the steps
  std::vector<Step> steps;
};

/// Of a kernel at stage Laid, as it is lowered for a machine; nothing of one without rings.
RingOrder ringOrderOf(const ir::Kernel &kernel, const machine::Machine &machine);

/// So many ways through an assembly are looked at, at most, each block with what may come next
/// being one: a kernel of two loops has some hundreds.
inline constexpr std::size_t kMostWays = 20'000;

/// What an assembly does otherwise, with the label before which it does.
struct RingDifference {
  std::string what;
  bool isKnown = true; ///< Or there are too many ways to tell.
};
/// Nothing where all is the same.
std::optional<RingDifference> differenceFrom(const RingOrder &meant, const target::CodeGraph &code,
                                             std::size_t mostWays = kMostWays);

/// The same as an error, of a kernel's code for a machine.
Result<void> checkRings(const RingOrder &meant, const target::CodeGraph &code,
                        std::string_view kernel, std::string_view machine,
                        std::size_t mostWays = kMostWays);

} // namespace imbrex
