#pragma once

#include "backend/ir/kernel.h"
#include "backend/machine/machine.h"
#include "backend/schedule/program/program.h"
#include "backend/schedule/timeline/blocks_of_core.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

/// What a kernel's operations cost, as plans and timelines of its loops count: round numbers, which
/// say what is much and what is little. Matrix instructions cost what their table says.
///
/// A core's resources each do one thing at a time, for all its warps together.
namespace imbrex::passes::pipeline {

inline constexpr std::string_view kMemory = "memory"; ///< Global memory.
inline constexpr std::string_view kSharedMemory = "shared memory";
inline constexpr std::string_view kMatrixUnits = "matrix units"; ///< Of all partitions.
inline constexpr std::string_view kLanes = "lanes";

/// The matrix units of a core among several blocks: one has those of as many partitions as it has
/// warps.
schedule::DealtResource dealtUnits(const ir::Kernel &kernel, const machine::Machine &machine);

/// The cycles of a core's resources that something takes: of an op with bodies, with each of them
/// once.
struct Work {
  std::int64_t units = 0, shared = 0, lanes = 0;

  /// Fragments are read while others are multiplied. What is computed element by element waits for
  /// what was multiplied, and the other way round.
  std::int64_t cycles() const { return std::max(units, shared) + lanes; }
  Work &operator+=(const Work &more) {
    units += more.units, shared += more.shared, lanes += more.lanes;
    return *this;
  }
};

/// Of matrix instructions, the cycles of all that a partition's warps issue; of an operand that
/// lies in shared memory or goes through it, the bytes that fill it once, and those that each warp
/// reads. Else a step of a lane for each multiply-add or element.
Work workOf(const ir::Kernel &kernel, const ir::Op &op, const machine::Machine &machine);
/// To read so many bytes of shared memory, once.
Work workToRead(std::int64_t bytes, const machine::Machine &machine);
/// What a `shared.load` reads for all warps, and what fills that once, as of a product's operand.
Work workToLoad(const ir::Kernel &kernel, const ir::Op &load, const machine::Machine &machine);

/// How often a warp issues a product's matrix instruction; 0: it is made of multiply-adds.
std::int64_t matrixInstructionsOf(const ir::Kernel &kernel, const ir::Op &dot,
                                  const machine::Machine &machine);

/// Of what keeps a resource for all of its time.
schedule::Cost costOn(std::string_view resource, std::int64_t cycles);
/// Of work that is one operation: on what it keeps busy for longest.
schedule::Cost combinedCost(const Work &work);

/// Where tiles come from that are loaded ahead: those of a kernel that multiplies them on matrix
/// units from the cache of all cores, where other blocks of their row or column find them, too.
enum class Source : std::uint8_t { Memory, Cache };
Source sourceOf(const ir::Kernel &kernel);
/// To bring so many bytes from there, while the threads go on.
schedule::Cost copyCost(const machine::AsyncCopies &copies, std::int64_t bytes, Source source);
/// Of an op that reads or writes global memory itself, or in its bodies; nothing of one that does
/// not.
schedule::Cost memoryCost(const ir::Kernel &kernel, const ir::Op &op,
                          const machine::AsyncCopies &copies, Source source = Source::Memory);

} // namespace imbrex::passes::pipeline
