#include "runtime/aot/recent.h"

#include "runtime/aot/devices.h"
#include "runtime/aot/given.h"
#include "runtime/aot/refused_launch.h"
#include "runtime/aot/remembered_launch.h"

#include <algorithm>
#include <array>
#include <span>

namespace imbrex::aot {
namespace {

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

// --- to keep one ---

/// Those of which the code is told, unless a requirement, the grid or a configuration follows from
/// them.
void findNumbers(const KernelRow &kernel, const CodeRow &code,
                 std::vector<RememberedNumber> &numbers) {
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
  std::copy_n(words, paddedWords(count), driver::wordsOf(kept.words));
  kept.fixed.assign(kept.words.size(), kFixed);
  findNumbers(kernel, code, kept.numbers);
  for (const RememberedNumber &number : kept.numbers) driver::wordsOf(kept.fixed)[number.word] = 0;
}

// --- to find one ---

/// One that did not follow the latest launch the last time.
RememberedLaunch *findByHash(RememberedLaunches &recent, const AskedWords &asked) {
  const void *const loaded = loadedOf(asked.kernel, placeOf(asked.on));
  if (loaded == nullptr) return nullptr;
  return recent.findByHash(hashOf(asked.kernel, loaded, asked.words),
                           [&](RememberedLaunch &one) { return isThis(one, asked); });
}

} // namespace

int latestRefused(int error) noexcept {
  const RememberedLaunch &latest = RememberedLaunches::find()->latest();
  return refusedLaunch(*latest.kernel, *latest.gpu, latest.launch.launch(), error);
}

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
  kept.grid.keep(kernel.blocks == nullptr ? asked.grid : nullptr);
  keepWords(kernel, *ready.code, given.list(), kept);
  kept.kernel = &kernel;
  kept.gpu = &gpu;
  kept.launch.keep(launch, gpu, ready.module);
  kept.loaded = loaded;
}

} // namespace imbrex::aot
