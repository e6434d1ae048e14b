#pragma once

#include "backend/launching/observations.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>

/// Prints and asserts of code that runs on the processor.
namespace imbrex::launching {

/// A running launch, as the calls of its code see it.
struct ObservedRun {
  std::span<const ObservationSite> sites = {};
  std::mutex mutex = {};
  std::optional<observations::FailedAssert> failed = {}; ///< The first. Guarded by the mutex.
  std::atomic<bool> isStopped = false; ///< An assert failed: no further blocks begin.
};

/// Write the line of a print at once. `operands`: where the elements of each are. Throws
/// std::bad_alloc.
void printFromCode(const ObservedRun &run, std::uint32_t site, const BlockIndex &block,
                   const void *const *operands);

/// Note that an assert failed at this element, row-major, if none has before. Throws
/// std::bad_alloc, and the launch is stopped all the same.
void failFromCode(ObservedRun &run, std::uint32_t site, const BlockIndex &block,
                  std::int64_t element);

} // namespace imbrex::launching
