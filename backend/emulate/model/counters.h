#pragma once

#include "backend/support/location.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// What a run has cost, counted.
namespace imbrex::emulate {

/// Of LLVM IR after its optimiser: the machine's code has about as many.
enum class InstructionKind : std::uint8_t {
#define IMBREX_INSTRUCTION(Kind, name) Kind,
#include "backend/emulate/model/instruction_kinds.def"
};

inline constexpr auto kInstructionNames = std::to_array<std::string_view>({
#define IMBREX_INSTRUCTION(Kind, name) name,
#include "backend/emulate/model/instruction_kinds.def"
});
using InstructionCounts = std::array<std::uint64_t, kInstructionNames.size()>;

/// Of one load, store or atomic of the code. A request is what the lanes of a warp ask for at a
/// time.
struct AccessCounters {
  Location where;
  std::string what;
  bool isShared = false;
  std::uint32_t bytesPerLane = 0;
  std::uint64_t requests = 0;
  std::uint64_t lanes = 0;        ///< Of all requests.
  std::uint64_t sectors = 0;      ///< Global: pieces of 32 bytes that were touched.
  std::uint64_t lines = 0;        ///< Global: pieces of 128 bytes.
  std::uint64_t leastSectors = 0; ///< Global: that the bytes wanted would fill.
  std::uint64_t cycles = 0;       ///< Shared: with bank conflicts.
  std::uint64_t leastCycles = 0;  ///< Shared: without.

  void add(const AccessCounters &other);
};

struct Counters {
  std::uint64_t blocks = 0;
  std::uint64_t threads = 0;
  InstructionCounts instructions{}; ///< By kind, of all threads.
  std::vector<AccessCounters> accesses;

  std::uint64_t bankConflicts() const;
};

/// A table for people, with a row for all that are alike of a source line.
std::string toText(const Counters &counters);
/// One object: "blocks", "threads", "instructions", "accesses", with the same rows.
std::string toJson(const Counters &counters);

} // namespace imbrex::emulate
