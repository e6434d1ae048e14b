#pragma once

#include "backend/interpret/requirements.h"
#include "dsl/traced_kernel.h"
#include "imbrex/launch.hpp"
#include "runtime/bind.h"
#include "runtime/computed_grid.h"
#include "runtime/devices.h"
#include "runtime/executable.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace imbrex::detail {

/// What has been compiled, by device. A launch reads one pointer; what it points to lives as long
/// as the state.
struct launch_state {
  std::uint64_t number; ///< No other has had it.
  traced_kernel kernel;
  std::optional<device> on;
  runtime::Parameters parameters;
  interpret::Requirements requirements;
  std::optional<runtime::ComputedGrid> blocks;
  std::vector<std::atomic<const runtime::Executable *>> ready{runtime::allDevices().size()};
  std::mutex mutex; // of `owned`
  std::vector<std::shared_ptr<const runtime::Executable>> owned{runtime::allDevices().size()};

  /// A change of a launch's numbers may change its grid, or whether it may be.
  bool followsFromNumbers(const grid *given) const {
    return given == nullptr || !requirements.empty();
  }
};

} // namespace imbrex::detail
