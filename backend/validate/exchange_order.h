#pragma once

#include "backend/target/gpu_target.h"

#include <optional>
#include <string>

/// Where threads hand elements to each other through shared memory (lower/memory/shared_memory.h),
/// they must meet between the writes and the reads, and again before the memory is written for the
/// next exchange. This is checked of the code that LLVM has made, with no knowledge of how it came
/// to be: on every path through it,
///
///   write region 0
///   meet                  <- without it the read comes behind a write
///   read region 0
///   write region 1        <- nobody reads there
///   meet
///   read region 1
///   write region 0        <- the last read there was before the meeting
///
/// What one thread does with its own elements alone counts as if others had them, for nothing in an
/// exchange is a thread's own. Updates by atomics are in no order among each other. Slots that
/// threads store tiles into are held to the same. Copies into rings are another matter
/// (ring_order.h).
namespace imbrex {

/// What is out of order in a module, optimised, with the lines of the kernel; nothing where all is
/// in order.
std::optional<std::string> exchangeRaceIn(const llvm::Module &module,
                                          const target::GpuTarget &target);

} // namespace imbrex
