#include "runtime/aot/recent.h"

#include "runtime/aot/devices.h"
#include "runtime/aot/driver/kept_launch.h"
#include "runtime/aot/error.h"
#include "runtime/aot/given.h"
#include "runtime/aot/watched.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <vector>

namespace imbrex::aot {
namespace {

/// Two words, which are compared at once.
using WordPair [[gnu::vector_size(16)]] = std::uint64_t;
static_assert(alignof(WordPair) <= kWordsAlignment);

/// A number that may be another one when a launch is made again, as long as the same code is right.
struct Number {
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
  bool bringsGrid = false; ///< Else the kernel computes it of its arguments.
  imbrex_grid grid{};
  std::vector<WordPair> words = {}; ///< Of all arguments.
  std::vector<WordPair> fixed = {}; ///< Zeros for those of `numbers`, ones for all others.
  std::vector<Number> numbers = {};
  const KernelRow *kernel = nullptr;
  const driver::Gpu *gpu = nullptr;
  driver::KeptLaunch launch = {};
};

using RememberedLaunches = driver::Recent<RememberedLaunch>;

template <class T>
T readAs(const void *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

driver::LaunchHash hashOf(const KernelRow &kernel, const void *loaded, const std::uint64_t *words) {
  driver::LaunchHash hash(reinterpret_cast<std::uintptr_t>(loaded));
  const auto count =
      std::min(static_cast<std::size_t>(kernel.parameterCount), driver::LaunchHash::kMostArguments);
  for (std::size_t i = 0; i < count; ++i) {
    // All that has memory begins with its address.
    if (hasMemory(kernel.parameters[i])) hash.add(*words);
    words += givenWords(kernel.parameters[i]);
  }
  return hash;
}

std::uint64_t deviceOf(const imbrex_stream &on) {
  static_assert(offsetof(imbrex_stream, handle) == sizeof(std::uint64_t));
  return readAs<std::uint64_t>(&on);
}

const void *loadedOf(const KernelRow &kernel, std::size_t place) {
  return kernel.loaded->places[place].load(std::memory_order_acquire);
}

// --- to keep one ---

WordPair pairAt(const std::uint64_t *words) { return readAs<WordPair>(words); }

/// Where words begin that are kept two by two: element and vector may be one memory.
std::uint64_t *wordsOf(std::vector<WordPair> &pairs) {
  return reinterpret_cast<std::uint64_t *>(pairs.data());
}

/// Those of which the code is told, unless a requirement, the grid or a configuration follows from
/// them.
void findNumbers(const KernelRow &kernel, const CodeRow &code, std::vector<Number> &numbers) {
  numbers.clear();
  if (kernel.check != nullptr || kernel.blocks != nullptr) return;
  std::array<std::uint32_t, kMostParameters> first{};
  for (std::size_t i = 1; i < static_cast<std::size_t>(kernel.parameterCount); ++i)
    first[i] = first[i - 1] + static_cast<std::uint32_t>(givenWords(kernel.parameters[i - 1]));
  for (const WordRow &word : std::span(code.words, static_cast<std::size_t>(code.wordCount))) {
    const ParameterRow &parameter = kernel.parameters[word.parameter];
    if (word.kind == WordKind::Scalar && !parameter.isTuned)
      numbers.push_back({.word = first[word.parameter],
                         .place = word.place,
                         .bytes = storageBytes(parameter),
                         .isInteger = parameter.isInteger});
  }
}

void keepWords(const KernelRow &kernel, const CodeRow &code, const std::uint64_t *words,
               RememberedLaunch &kept) {
  constexpr WordPair kFixed{~std::uint64_t{0}, ~std::uint64_t{0}};
  std::size_t count = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(kernel.parameterCount); ++i)
    count += givenWords(kernel.parameters[i]);
  kept.words.resize(paddedWords(count) / 2);
  std::copy_n(words, paddedWords(count), wordsOf(kept.words));
  kept.fixed.assign(kept.words.size(), kFixed);
  findNumbers(kernel, code, kept.numbers);
  for (const Number &number : kept.numbers) wordsOf(kept.fixed)[number.word] = 0;
}

// --- to find one ---

bool isZero(WordPair pair) { return (pair[0] | pair[1]) == 0; }

bool isOfSameKernel(const RememberedLaunch &kept, const AskedWords &asked) {
  return kept.device == deviceOf(asked.on) && kept.loaded == loadedOf(asked.kernel, kept.place);
}

/// Zeros where there is none.
WordPair differenceOf(const RememberedLaunch &kept, const imbrex_grid *given) {
  constexpr WordPair kSome{1, 1};
  if (given == nullptr) return kept.bringsGrid ? kSome : WordPair{};
  static_assert(offsetof(imbrex_grid, z) == sizeof(WordPair));
  const WordPair last{static_cast<std::uint64_t>(given->z ^ kept.grid.z), 0};
  return (readAs<WordPair>(given) ^ readAs<WordPair>(&kept.grid)) | last;
}

/// Whether the words are the same, and nothing was `different` before. No step of it branches: the
/// launch that is expected is nearly always the one that comes.
bool areSame(const std::vector<WordPair> &kept, const std::uint64_t *words, WordPair different) {
  const WordPair *one = kept.data(), *const end = one + kept.size();
  different |= pairAt(words) ^ *one;
  for (++one, words += 2; one != end; one += 2, words += 4) // as they are padded
    different |= (pairAt(words) ^ one[0]) | (pairAt(words + 2) ^ one[1]);
  return isZero(different);
}

/// Whether the launch that is kept is the very one that is asked for.
bool isSame(const RememberedLaunch &kept, const AskedWords &asked) {
  return isOfSameKernel(kept, asked) &&
         areSame(kept.words, asked.words, differenceOf(kept, asked.grid));
}

/// The same of all but numbers.
bool areSameButNumbers(const RememberedLaunch &kept, const std::uint64_t *words,
                       WordPair different) {
  for (std::size_t i = 0; i < kept.words.size(); ++i, words += 2)
    different |= (pairAt(words) ^ kept.words[i]) & kept.fixed[i];
  return isZero(different);
}

/// Give the launch that is kept other numbers; false where other code is right for one.
bool changeNumbers(RememberedLaunch &kept, const std::uint64_t *words) {
  for (const Number &number : kept.numbers) {
    std::uint64_t &before = wordsOf(kept.words)[number.word];
    const std::uint64_t now = words[number.word];
    if (now == before) continue;
    if (!launching::ParameterAssumptions::areAlike(now, before, number.isInteger)) return false;
    kept.launch.change(number.place, number.bytes, now);
    before = now;
  }
  return true;
}

/// Whether the launch that is kept, from now on with these numbers, is the one that is asked for.
bool isThis(RememberedLaunch &kept, const AskedWords &asked) {
  return isOfSameKernel(kept, asked) &&
         areSameButNumbers(kept, asked.words, differenceOf(kept, asked.grid)) &&
         changeNumbers(kept, asked.words);
}

/// One that did not follow the latest launch the last time.
RememberedLaunch *findByHash(RememberedLaunches &recent, const AskedWords &asked) {
  const void *const loaded = loadedOf(asked.kernel, placeOf(asked.on));
  if (loaded == nullptr) return nullptr;
  return recent.findByHash(hashOf(asked.kernel, loaded, asked.words),
                           [&](RememberedLaunch &one) { return isThis(one, asked); });
}

/// The driver's error, of the thread's latest launch.
[[gnu::noinline]] int latestRefused(int error) noexcept {
  const RememberedLaunch &latest = RememberedLaunches::find()->latest();
  return refusedLaunch(*latest.kernel, *latest.gpu, latest.launch.launch(), error);
}

/// One that is the thread's latest now.
[[gnu::always_inline]] inline int start(const RememberedLaunch &latest, const imbrex_stream &on) {
  const int error = latest.launch.start(on.handle);
  return error == 0 ? IMBREX_OK : latestRefused(error);
}

/// Not the very one that was expected: with other numbers, or another launch.
[[gnu::noinline]] int launchOther(const KernelRow &kernel, const imbrex_stream &on,
                                  const imbrex_grid *grid, const std::uint64_t *words) noexcept {
  RememberedLaunches *const recent = RememberedLaunches::find();
  const AskedWords asked{kernel, on, grid, words};
  const RememberedLaunch *kept = nullptr;
  if (recent != nullptr)
    kept = recent->findNext([&](RememberedLaunch &one) { return isThis(one, asked); });
  return kept != nullptr ? start(*kept, on) : launchUnexpected(kernel, &on, grid, words);
}

} // namespace

int launchAgain(const AskedWords &asked) noexcept {
  RememberedLaunches *const recent = RememberedLaunches::find();
  if (recent == nullptr) return kNotRecent;
  const RememberedLaunch *kept =
      recent->findNext([&](RememberedLaunch &one) { return isThis(one, asked); });
  if (kept == nullptr) kept = findByHash(*recent, asked);
  return kept == nullptr ? kNotRecent : start(*kept, asked.on);
}

void keepRecent(const Asked &asked, const driver::Gpu &gpu, const Ready &ready,
                const driver::Launch &launch) {
  RememberedLaunches *const recent = RememberedLaunches::make();
  GivenWords given;
  if (recent == nullptr || !given.take(asked.kernel, asked.arguments)) return;
  const KernelRow &kernel = asked.kernel;
  const std::size_t place = placeOf(asked.on);
  const void *const loaded = loadedOf(kernel, place);
  RememberedLaunch &kept = recent->make(hashOf(kernel, loaded, given.list()));
  kept.loaded = &kept; // until all is there
  kept.device = deviceOf(asked.on);
  kept.place = place;
  kept.bringsGrid = kernel.blocks == nullptr;
  kept.grid = kept.bringsGrid ? *asked.grid : imbrex_grid{};
  keepWords(kernel, *ready.code, given.list(), kept);
  kept.kernel = &kernel;
  kept.gpu = &gpu;
  kept.launch.keep(launch, gpu, ready.module);
  kept.loaded = loaded;
}

int refusedLaunch(const KernelRow &kernel, const driver::Gpu &gpu, const driver::Launch &launch,
                  int error) noexcept {
  try {
    return fail(IMBREX_REFUSED, "%s refuses the launch of '%s' with %d x %d x %d blocks of %d: %s",
                gpu.description().c_str(), kernel.name, launch.grid[0], launch.grid[1],
                launch.grid[2], launch.threads, gpu.textOf(error).c_str());
  } catch (const std::bad_alloc &) {
    return fail(IMBREX_REFUSED, "the launch of '%s' is refused: error %d", kernel.name, error);
  }
}

} // namespace imbrex::aot

/// Launch a kernel, with the words of its arguments. Most launches of a program are the very ones
/// that followed the latest before, and of nobody's interest.
extern "C" int imbrex_aot_launch_words_4(const imbrex::aot::KernelRow *kernel,
                                         const imbrex_stream *stream, const imbrex_grid *grid,
                                         const std::uint64_t *words) {
  using namespace imbrex::aot;
  if (stream == nullptr || WatchedLaunch::areSome())
    return launchUnexpected(*kernel, stream, grid, words);
  const AskedWords asked{*kernel, *stream, grid, words};
  RememberedLaunches *const recent = RememberedLaunches::find();
  const RememberedLaunch *kept = nullptr;
  if (recent != nullptr)
    kept = recent->findNext([&](const RememberedLaunch &one) { return isSame(one, asked); });
  return kept != nullptr ? start(*kept, *stream) : launchOther(*kernel, *stream, grid, words);
}
