#pragma once

#include "backend/launching/parameter_assumptions.h"
#include "runtime/aot/driver/compared_words.h"
#include "runtime/aot/driver/kept_launch.h"
#include "runtime/aot/driver/read_as.h"
#include "runtime/aot/recent.h"

#include <cstddef>
#include <vector>

/// What a thread remembers of a launch, and whether it is the one that is asked for. In a header,
/// as a launch that is made again is to take no call for it.
namespace imbrex::aot {

using driver::WordPair;
static_assert(alignof(WordPair) <= kWordsAlignment);

/// A number that may be another one when a launch is made again, as long as the same code is right.
struct RememberedNumber {
  std::uint32_t word;  ///< Which of them it is.
  std::uint32_t place; ///< In the argument list.
  std::uint8_t bytes;  ///< There.
  bool isInteger;      ///< What code there is for it may depend on what divides it.
};

struct RememberedLaunch {
  std::uint64_t device = 0; ///< Of the stream: its kind and number, as they lie there.
  std::size_t place = 0;    ///< Of what that GPU has loaded.
  /// What it has loaded of the kernel, which no other kernel has; of no launch what none has.
  const void *loaded = this;
  driver::KeptGrid<imbrex_grid> grid = {};
  std::vector<WordPair> words = {}; ///< Of all arguments.
  std::vector<WordPair> fixed = {}; ///< Zeros for those of `numbers`, ones for all others.
  std::vector<RememberedNumber> numbers = {};
  const KernelRow *kernel = nullptr;
  const driver::Gpu *gpu = nullptr;
  driver::KeptLaunch launch = {};
};

using RememberedLaunches = driver::Recent<RememberedLaunch>;

inline std::uint64_t deviceOf(const imbrex_stream &on) {
  static_assert(offsetof(imbrex_stream, handle) == sizeof(std::uint64_t));
  return driver::readAs<std::uint64_t>(&on);
}

inline const void *loadedOf(const KernelRow &kernel, std::size_t place) {
  return kernel.loaded->places[place].load(std::memory_order_acquire);
}

inline bool isOfSameKernel(const RememberedLaunch &kept, const AskedWords &asked) {
  return kept.device == deviceOf(asked.on) && kept.loaded == loadedOf(asked.kernel, kept.place);
}

/// The same of all but numbers.
inline bool areSameButNumbers(const RememberedLaunch &kept, const std::uint64_t *words,
                              WordPair different) {
  for (std::size_t i = 0; i < kept.words.size(); ++i, words += 2)
    different |= (driver::pairAt(words) ^ kept.words[i]) & kept.fixed[i];
  return driver::isZero(different);
}

/// Give the launch that is kept other numbers; false where other code is right for one.
inline bool changeNumbers(RememberedLaunch &kept, const std::uint64_t *words) {
  for (const RememberedNumber &number : kept.numbers) {
    std::uint64_t &before = driver::wordsOf(kept.words)[number.word];
    const std::uint64_t now = words[number.word];
    if (now == before) continue;
    if (!launching::ParameterAssumptions::areAlike(now, before, number.isInteger)) return false;
    kept.launch.change(number.place, number.bytes, now);
    before = now;
  }
  return true;
}

/// Whether the launch that is kept, from now on with these numbers, is the one that is asked for.
inline bool isThis(RememberedLaunch &kept, const AskedWords &asked) {
  return isOfSameKernel(kept, asked) &&
         areSameButNumbers(kept, asked.words, kept.grid.differenceOf(asked.grid)) &&
         changeNumbers(kept, asked.words);
}

/// Tell of the driver's error, of the thread's latest launch. An imbrex_status.
int latestRefused(int error) noexcept;

/// One that is the thread's latest now.
[[gnu::always_inline]] inline int start(const RememberedLaunch &latest, const imbrex_stream &on) {
  const int error = latest.launch.start(on.handle);
  return error == 0 ? IMBREX_OK : latestRefused(error);
}

} // namespace imbrex::aot
