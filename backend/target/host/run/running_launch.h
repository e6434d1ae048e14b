#pragma once

#include "backend/support/diagnostics.h"
#include "backend/target/host/host_emitter.h"

#include <atomic>
#include <mutex>
#include <vector>

namespace imbrex::host {

/// A running launch, as the calls of its code see it.
struct RunningLaunch {
  const std::vector<lower::ObservationSite> &sites;
  Diagnostics &diagnostics; // guarded by the mutex
  std::mutex mutex = {};
  std::atomic<bool> stopped = false; // an assert failed: no further blocks begin
};

} // namespace imbrex::host
