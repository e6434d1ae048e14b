#include "backend/package/choice/tables.h"
#include "runtime/launch_hook.h"
#include "runtime/launch_state.h"
#include "runtime/recent_launches.h"

/// Most launches of a program are the very ones that followed the latest before, and of nobody's
/// interest: these take no other function between the kernel's and the driver's.
namespace imbrex::detail {
namespace {

using runtime::RecentLaunch;
using runtime::RecentLaunches;

/// A launch as it is asked for, by its words.
struct AskedWords {
  const launch_state &state;
  const stream_ref &in;
  const grid *blocks;
  const std::uint64_t *words;
};

constexpr bool areWordsPadded() {
  for (std::size_t count = 0; count < 64; ++count)
    if (padded_words(count) != aot::paddedWords(count)) return false;
  return true;
}
static_assert(areWordsPadded(), "driver::areSame compares so many");

bool isOfSameKernel(const RecentLaunch &kept, const AskedWords &asked) {
  return kept.kernel == asked.state.number && kept.device == asked.in.on().index();
}

bool isSame(const RecentLaunch &kept, const AskedWords &asked) {
  return isOfSameKernel(kept, asked) &&
         driver::areSame(kept.words, asked.words, differenceOf(kept, asked.blocks));
}

/// The same with other numbers, which the launch has from now on.
bool adapt(RecentLaunch &kept, const AskedWords &asked) {
  if (!isOfSameKernel(kept, asked) || !driver::isZero(differenceOf(kept, asked.blocks)) ||
      asked.state.followsFromNumbers(asked.blocks))
    return false;
  const std::uint64_t *const before = driver::wordsOf(kept.words);
  for (std::size_t i = 0; i < kept.arguments.size(); ++i)
    if (before[i] != asked.words[i] && !changeNumber(kept, i, asked.words[i])) return false;
  return true;
}

/// Not the very one that was expected.
[[gnu::noinline]] int launchOther(const launch_state &state, const stream_ref &in,
                                  const grid *blocks, const std::uint64_t *words) {
  const AskedWords asked{state, in, blocks, words};
  const RecentLaunch *const kept =
      RecentLaunches::find()->findNext([&](RecentLaunch &one) { return adapt(one, asked); });
  return kept != nullptr ? kept->launch.start(in.native()) : launchable::not_recent;
}

} // namespace

int launchable::launch_again(const stream_ref *stream, const grid *blocks,
                             const std::uint64_t *words) const {
  RecentLaunches *const recent = RecentLaunches::find();
  if (recent == nullptr || runtime::HookedLaunch::areSome()) return not_recent;
  if (stream == nullptr) return launch_again_in_current(blocks, words);
  const AskedWords asked{*state_, *stream, blocks, words};
  const RecentLaunch *kept =
      recent->findNext([&](const RecentLaunch &one) { return isSame(one, asked); });
  return kept != nullptr ? kept->launch.start(stream->native())
                         : launchOther(*state_, *stream, blocks, words);
}

} // namespace imbrex::detail
