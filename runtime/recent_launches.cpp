#include "runtime/recent_launches.h"

#include "runtime/devices.h"
#include "runtime/gpus.h"

#include <algorithm>
#include <new>

namespace imbrex::runtime {

using detail::launch_argument;

struct RecentLaunch {
  std::uint64_t kernel = 0; ///< 0: this is none.
  std::uint8_t device = 0;
  std::optional<std::array<std::int64_t, 3>> blocks = {}; ///< That the launch brought.
  std::vector<launch_argument> arguments = {};
  gpu::RepeatableLaunch launch = {};
};

namespace {

using RecentLaunches = driver::Recent<RecentLaunch>;

driver::LaunchHash hashOf(const AskedLaunch &asked) {
  driver::LaunchHash hash(asked.kernel);
  const auto count = std::min(asked.arguments.size(), driver::LaunchHash::kMostArguments);
  for (std::size_t i = 0; i < count; ++i)
    hash.add(reinterpret_cast<std::uintptr_t>(asked.arguments[i].data));
  return hash;
}

/// Of which it is known, and not only asked, that it is the GPU's memory.
bool isOwnArray(const launch_argument &argument) {
  return argument.kind == launch_argument::form::array && argument.in;
}

bool isSameLayout(const detail::layout &a, const detail::layout &b) {
  if (a.rank != b.rank) return false;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(b.rank); ++axis)
    if (a.extents[axis] != b.extents[axis] || a.strides[axis] != b.strides[axis]) return false;
  return true;
}

/// As one that was kept, and so is known to be the GPU's.
bool isSameArray(const launch_argument &a, const launch_argument &kept) {
  return a.data == kept.data && a.bytes == kept.bytes && a.in == kept.in &&
         isSameLayout(a.layout, kept.layout);
}

/// Give the launch that is kept another number; false where it is another launch then.
bool changeNumber(RecentLaunch &kept, std::size_t i, const launch_argument &given) {
  if (!kept.launch.mayChange(i, kept.arguments[i].scalar, given.scalar)) return false;
  kept.launch.change(i, given.scalar);
  kept.arguments[i].scalar = given.scalar;
  return true;
}

bool areBlocks(const imbrex::grid *asked, const std::optional<std::array<std::int64_t, 3>> &kept) {
  return asked == nullptr ? !kept : kept && asked->extents() == *kept;
}

/// Give it other numbers, where they are all that differs; false where it is another launch.
bool adapt(RecentLaunch &kept, const AskedLaunch &asked) {
  for (std::size_t i = 0; i < kept.arguments.size(); ++i) {
    const launch_argument &given = asked.arguments[i], &before = kept.arguments[i];
    if (given.kind != before.kind) return false;
    if (given.kind != launch_argument::form::scalar) {
      if (!isSameArray(given, before)) return false;
    } else if (given.scalar != before.scalar &&
               (asked.followsFromNumbers || !changeNumber(kept, i, given))) {
      return false;
    }
  }
  return true;
}

} // namespace

std::optional<Result<void>> launchAgain(const AskedLaunch &asked) {
  RecentLaunches *const recent = RecentLaunches::find();
  if (recent == nullptr) return std::nullopt;
  const auto is = [&](RecentLaunch &one) {
    return one.kernel == asked.kernel && one.device == asked.in.on().index() &&
           areBlocks(asked.blocks, one.blocks) && adapt(one, asked);
  };
  RecentLaunch *kept = recent->findNext(is);
  if (kept == nullptr) kept = recent->findByHash(hashOf(asked), is);
  if (kept == nullptr) return std::nullopt;
  return kept->launch.start(asked.in.native());
}

RecentLaunch *placeForRecent(const AskedLaunch &asked) {
  const auto isKept = [](const launch_argument &argument) {
    return argument.kind == launch_argument::form::scalar || isOwnArray(argument);
  };
  if (!isGpu(infoOf(asked.in.on()).kind)) return nullptr;
  if (!std::all_of(asked.arguments.begin(), asked.arguments.end(), isKept)) return nullptr;
  RecentLaunches *const recent = RecentLaunches::make();
  if (recent == nullptr) return nullptr;
  RecentLaunch &place = recent->make(hashOf(asked));
  place.kernel = 0; // until all is there
  place.launch.forget();
  return &place;
}

gpu::RepeatableLaunch &launchOf(RecentLaunch &place) { return place.launch; }

void keepRecent(RecentLaunch &kept, const AskedLaunch &asked) noexcept {
  if (!kept.launch.isThere()) return;
  try {
    kept.device = asked.in.on().index();
    kept.blocks.reset();
    if (asked.blocks != nullptr) kept.blocks = asked.blocks->extents();
    kept.arguments.assign(asked.arguments.begin(), asked.arguments.end());
    kept.kernel = asked.kernel;
  } catch (const std::bad_alloc &) {
    kept.launch.forget();
  }
}

} // namespace imbrex::runtime
