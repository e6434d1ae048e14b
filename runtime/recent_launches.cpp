#include "runtime/recent_launches.h"

#include "runtime/devices.h"
#include "runtime/gpus.h"

#include <algorithm>
#include <new>

namespace imbrex::runtime {

using detail::launch_argument;

namespace {

driver::LaunchHash hashOf(const AskedLaunch &asked) {
  driver::LaunchHash hash(asked.kernel);
  const auto count = std::min(asked.arguments.size(), driver::LaunchHash::kMostArguments);
  for (std::size_t i = 0; i < count; ++i)
    hash.add(reinterpret_cast<std::uintptr_t>(asked.arguments[i].data));
  return hash;
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

/// Give it other numbers, where they are all that differs; false where it is another launch.
bool adapt(RecentLaunch &kept, const AskedLaunch &asked) {
  for (std::size_t i = 0; i < kept.arguments.size(); ++i) {
    const launch_argument &given = asked.arguments[i], &before = kept.arguments[i];
    if (given.kind != before.kind) return false;
    if (given.kind != launch_argument::form::scalar) {
      if (!isSameArray(given, before)) return false;
    } else if (given.scalar != before.scalar &&
               (asked.followsFromNumbers || !changeNumber(kept, i, given.scalar))) {
      return false;
    }
  }
  return true;
}

void keepWords(RecentLaunch &kept, const AskedLaunch &asked) {
  const std::size_t count = detail::padded_words(asked.arguments.size());
  kept.words.resize(count / 2);
  std::copy_n(asked.words, count, driver::wordsOf(kept.words));
}

} // namespace

bool changeNumber(RecentLaunch &kept, std::size_t parameter, std::uint64_t now) {
  launch_argument &before = kept.arguments[parameter];
  if (!kept.launch.mayChange(parameter, before.scalar, now)) return false;
  kept.launch.change(parameter, now);
  before.scalar = driver::wordsOf(kept.words)[parameter] = now;
  return true;
}

std::optional<Result<void>> launchAgain(const AskedLaunch &asked) {
  RecentLaunches *const recent = RecentLaunches::find();
  if (recent == nullptr || asked.words == nullptr) return std::nullopt;
  const auto is = [&](RecentLaunch &one) {
    return one.kernel == asked.kernel && one.device == asked.in.on().index() &&
           driver::isZero(differenceOf(one, asked.blocks)) && adapt(one, asked);
  };
  RecentLaunch *kept = recent->findNext(is);
  if (kept == nullptr) kept = recent->findByHash(hashOf(asked), is);
  if (kept == nullptr) return std::nullopt;
  keepWords(*kept, asked); // of other buffers in the same memory
  return kept->launch.started(kept->launch.start(asked.in.native()));
}

RecentLaunch *placeForRecent(const AskedLaunch &asked) {
  // Of what has words it need not be asked again whose memory it is: a device_buffer's owner knows,
  // and of a bare pointer, which leads to the GPU's now, the program may pass nothing of the
  // host's.
  if (asked.words == nullptr || !isGpu(infoOf(asked.in.on()).kind)) return nullptr;
  RecentLaunches *const recent = RecentLaunches::make();
  if (recent == nullptr) return nullptr;
  RecentLaunch &place = recent->make(hashOf(asked));
  place.kernel = 0; // until all is there
  place.launch.forget();
  return &place;
}

void keepRecent(RecentLaunch &kept, const AskedLaunch &asked) noexcept {
  if (!kept.launch.isThere()) return;
  try {
    kept.device = asked.in.on().index();
    kept.blocks.keep(extentsOf(asked.blocks));
    keepWords(kept, asked);
    kept.arguments.assign(asked.arguments.begin(), asked.arguments.end());
    kept.kernel = asked.kernel;
  } catch (const std::bad_alloc &) {
    kept.launch.forget();
  }
}

} // namespace imbrex::runtime
