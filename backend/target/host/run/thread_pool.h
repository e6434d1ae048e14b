#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>

/// Spreads the blocks of a launch over threads that live as long as the process.
namespace imbrex::host {

/// The threads that work on a launch: those of the pool and the caller. IMBREX_NUM_THREADS, or one
/// per processor.
std::int32_t threadCount();

/// Call `work(begin, end)` for consecutive ranges that cover 0 … count, and return when all have
/// returned. The caller works too, so that a launch makes progress whatever the pool is busy with,
/// and any number of threads may launch at once.
void runInParallel(std::int64_t count,
                   llvm::function_ref<void(std::int64_t begin, std::int64_t end)> work);

} // namespace imbrex::host
