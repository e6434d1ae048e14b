#pragma once

#include "backend/machine/machine.h"
#include "backend/support/result.h"

#include <cstdint>
#include <string>
#include <vector>

/// Registers that some roles of a block give up and others take.
///
/// A launch gives every thread the same number of registers. A group of four warps can then lower
/// its number, and another raise its own, out of what the block was given:
///
///   384 threads, one block on the core: 65536 / 384, down to a multiple of 8 = 168 each
///
///     warps 0-3   load      40 x 128 =  5120
///     warps 4-11  compute  232 x 256 = 59392     in all 64512 = 168 x 384
///
/// To raise blocks until the pool has enough: an overrun is a kernel that hangs.
namespace imbrex::machine {

/// What of the arithmetic is the instruction's and not the machine's: "setmaxnreg" in the Parallel
/// Thread Execution ISA 9.0 (a multiple of 8 from 24 to 256; executed alike by all warps of a
/// warpgroup, which is four).
struct RegisterRules {
  std::int32_t step = 8;
  std::int32_t least = 24;
  std::int32_t most = 256;
  std::int32_t groupWarps = 4;
  /// A producer whose own threads copy needs more than the least (tilelang, issue 359: such a
  /// kernel hung with 24).
  std::int32_t leastForCopies = 32;
};

/// What a role does to the number of its registers.
enum class RegisterChange : std::uint8_t { Keeps, Releases, Takes };

struct RoleRegisters {
  std::string name;
  std::int32_t firstWarp = 0;
  std::int32_t warps = 1;
  RegisterChange change = RegisterChange::Keeps;
  std::int32_t registers = 0; ///< A thread's, afterwards; of one that keeps them the launch's.
  bool plainCopies = false;   ///< Its threads move the data themselves.
};

struct RegisterLaunch {
  std::int32_t threads = 0;   ///< Of a block.
  std::int32_t minBlocks = 1; ///< On a core at the same time, by the launch bounds.
};

/// The registers that a launch gives each thread; 0 where it is none of the machine's.
std::int32_t launchRegisters(const RegisterLaunch &launch, const Machine &machine);

/// All that is wrong with the registers of a block's roles, each under its own name. Warps without
/// a role have their group's number. Whether the machine can change them at all is not asked.
std::vector<Diagnostic> validateRegisters(const std::vector<RoleRegisters> &roles,
                                          const RegisterLaunch &launch, const Machine &machine,
                                          Location where = {});

/// Registers of a thread of the producers, which release, and of the consumers, which take.
struct RegisterSplit {
  std::int32_t producer = 0, consumer = 0;
  std::int64_t unused = 0; ///< Registers of the block's pool that nobody has.

  friend bool operator==(const RegisterSplit &, const RegisterSplit &) = default;
};

struct SplitRequest {
  std::int32_t producerGroups = 1; ///< Of four warps each.
  std::int32_t consumerGroups = 2;
  std::int32_t minBlocks = 1;
  bool plainCopies = false; ///< By the producers.
};

/// Every pair that validateRegisters accepts, those with most for the consumer first, and among
/// these those with most for the producer.
std::vector<RegisterSplit> splitsFor(const SplitRequest &request, const Machine &machine);

} // namespace imbrex::machine
