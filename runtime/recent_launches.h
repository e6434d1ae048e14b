#pragma once

#include "imbrex/detail/argument.hpp"
#include "imbrex/grid.hpp"
#include "imbrex/stream.hpp"
#include "runtime/gpu/repeatable_launch.h"

#include <optional>

/// What the calling thread has launched lately on GPUs. A launch of the same arguments, but for
/// numbers from which nothing follows, is handed to the driver without another look at them.
namespace imbrex::runtime {

/// A launch as it is asked for.
struct AskedLaunch {
  std::uint64_t kernel; ///< The launcher's own number, which none has had before.
  stream_ref in;
  const imbrex::grid *blocks; ///< Null where the kernel is to compute them.
  detail::list<detail::launch_argument> arguments;
  /// A change of the numbers may change the grid, or whether the launch may be.
  bool followsFromNumbers;
};

/// Make the launch, if one like it was made; else nothing.
std::optional<Result<void>> launchAgain(const AskedLaunch &asked);

/// One that is kept, or about to be.
struct RecentLaunch;

/// Where what a launch needs to be made again is to be put while it is made, `launchOf` it; null
/// where it can't be made again. Behind it, `keepRecent`.
RecentLaunch *placeForRecent(const AskedLaunch &asked);
gpu::RepeatableLaunch &launchOf(RecentLaunch &place);
void keepRecent(RecentLaunch &place, const AskedLaunch &asked) noexcept;

} // namespace imbrex::runtime
