#pragma once

#include <cstdint>

namespace imbrex::schedule {

/// The largest counts that a wait can name, and the number of global loads from which on a warp
/// stalls when it issues another.
///
/// Fields: 6 bits and 4 bits in the instruction s_waitcnt of CDNA (LLVM 22 assembles 63 and 15, and
/// refuses 64 and 16). Stall: a thread trace of loads at random addresses on CDNA 3 shows it at the
/// 24th, long before the queue of 64 is full.
struct CounterLimits {
  std::int64_t vm = 63;
  std::int64_t lgkm = 15;
  std::int64_t vmBeforeStall = 24;
};

} // namespace imbrex::schedule
