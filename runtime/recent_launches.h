#pragma once

#include "imbrex/detail/argument.hpp"
#include "imbrex/grid.hpp"
#include "imbrex/stream.hpp"
#include "runtime/aot/driver/compared_words.h"
#include "runtime/gpu/repeatable_launch.h"

#include <optional>
#include <vector>

/// What the calling thread has launched lately on GPUs. A launch of the same arguments, but for
/// numbers from which nothing follows, is handed to the driver without another look at them.
namespace imbrex::runtime {

/// A launch as it is asked for.
struct AskedLaunch {
  std::uint64_t kernel; ///< The launcher's own number, which none has had before.
  stream_ref in;
  const imbrex::grid *blocks; ///< Null where the kernel is to compute them.
  detail::list<detail::launch_argument> arguments;
  const std::uint64_t *words; ///< Of the arguments (detail::has_word); null: they have none.
  /// A change of the numbers may change the grid, or whether the launch may be.
  bool followsFromNumbers;
};

struct RecentLaunch {
  std::uint64_t kernel = 0; ///< 0: this is none.
  std::uint8_t device = 0;
  driver::KeptGrid<std::array<std::int64_t, 3>> blocks = {};
  std::vector<driver::WordPair> words = {};
  std::vector<detail::launch_argument> arguments = {};
  gpu::RepeatableLaunch launch = {};
};

inline const std::array<std::int64_t, 3> *extentsOf(const imbrex::grid *given) {
  return given != nullptr ? &given->extents() : nullptr;
}

using RecentLaunches = driver::Recent<RecentLaunch>;

inline driver::WordPair differenceOf(const RecentLaunch &kept, const imbrex::grid *given) {
  return kept.blocks.differenceOf(extentsOf(given));
}

/// Give the launch that is kept another number; false where it is another launch then.
bool changeNumber(RecentLaunch &kept, std::size_t parameter, std::uint64_t now);

/// Make the launch, if one like it was made; else nothing.
std::optional<Result<void>> launchAgain(const AskedLaunch &asked);

/// Where what a launch needs to be made again is to be put while it is made; null where it can't be
/// made again. Behind it, `keepRecent`.
RecentLaunch *placeForRecent(const AskedLaunch &asked);
void keepRecent(RecentLaunch &place, const AskedLaunch &asked) noexcept;

} // namespace imbrex::runtime
