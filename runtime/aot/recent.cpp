#include "runtime/aot/recent.h"

#include "runtime/aot/devices.h"
#include "runtime/aot/driver/kept_launch.h"
#include "runtime/aot/error.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <vector>

namespace imbrex::aot {
namespace {

/// Two words of an argument that has memory, by where they are in it. A lone one is there twice.
struct KeptWords {
  std::uint32_t argument;
  std::uint16_t first, second;
  std::uint64_t values[2];
};

/// An argument that is a number.
struct Number {
  std::uint32_t argument;
  std::uint32_t place; ///< Where it stands in the argument list.
  std::uint8_t bytes;
  bool isTruth;
  bool mayChange;
  bool isInteger; ///< What code there is for it may depend on what divides it.
  std::uint64_t value;
};

struct NarrowNumber {
  std::uint32_t argument, value;
};

struct RememberedLaunch {
  const void *loaded = nullptr; ///< What the GPU has loaded of the kernel, which no other has.
  bool bringsGrid = false;      ///< Else the kernel computes it of its arguments.
  imbrex_grid grid{};
  std::vector<KeptWords> memory = {};
  std::vector<Number> numbers = {};
  std::vector<NarrowNumber> narrow = {}; ///< The same, where all `areNarrow`.
  bool areNarrow = false;
  const driver::Gpu *gpu = nullptr;
  driver::Module module = {};
  driver::KeptLaunch launch = {};
};

using RememberedLaunches = driver::Recent<RememberedLaunch>;

template <class T>
T readAs(const void *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// The bits of a number, as they are passed.
std::uint64_t bitsOf(const void *given, std::uint8_t bytes, bool isTruth) {
  if (bytes == 4) return readAs<std::uint32_t>(given);
  if (bytes == 8) return readAs<std::uint64_t>(given);
  if (bytes == 2) return readAs<std::uint16_t>(given);
  const auto bits = readAs<std::uint8_t>(given);
  return isTruth && bits != 0 ? 1 : bits;
}

driver::LaunchHash hashOf(const Asked &asked, const void *loaded) {
  driver::LaunchHash hash(reinterpret_cast<std::uintptr_t>(loaded));
  const KernelRow &kernel = asked.kernel;
  const auto count =
      std::min(static_cast<std::size_t>(kernel.parameterCount), driver::LaunchHash::kMostArguments);
  for (std::size_t i = 0; i < count; ++i)
    // All that has memory begins with its address.
    if (hasMemory(kernel.parameters[i]) && asked.arguments[i] != nullptr)
      hash.add(readAs<std::uint64_t>(asked.arguments[i]));
  return hash;
}

// --- to keep one ---

/// Where the words of an argument are that has memory: its data, what it reaches over, what is
/// promised of it.
std::vector<std::uint16_t> placesOf(const ParameterRow &parameter) {
  if (parameter.form == Form::Pointer)
    return {offsetof(imbrex_memory, data), offsetof(imbrex_memory, bytes)};
  if (parameter.form == Form::Table)
    return {offsetof(imbrex_table, pointers), offsetof(imbrex_table, count),
            // Behind the promises is nothing; before them is the count's last half.
            offsetof(imbrex_table, promises) - sizeof(imbrex_table::promises)};
  std::vector<std::uint16_t> places{offsetof(imbrex_array, data)};
  for (std::size_t axis = 0; axis < parameter.rank; ++axis)
    for (const std::size_t of : {offsetof(imbrex_array, extents), offsetof(imbrex_array, strides)})
      places.push_back(static_cast<std::uint16_t>(of + axis * sizeof(std::int64_t)));
  return places;
}

std::uint64_t wordAt(const void *given, std::uint16_t place) {
  return readAs<std::uint64_t>(static_cast<const std::byte *>(given) + place);
}

void keepMemory(const Asked &asked, std::size_t argument, std::vector<KeptWords> &words) {
  const std::vector<std::uint16_t> places = placesOf(asked.kernel.parameters[argument]);
  const void *const given = asked.arguments[argument];
  for (std::size_t i = 0; i < places.size(); i += 2) {
    const std::uint16_t first = places[i], second = places[std::min(i + 1, places.size() - 1)];
    words.push_back({.argument = static_cast<std::uint32_t>(argument),
                     .first = first,
                     .second = second,
                     .values = {wordAt(given, first), wordAt(given, second)}});
  }
}

Number numberOf(const Asked &asked, std::size_t argument) {
  const ParameterRow &parameter = asked.kernel.parameters[argument];
  const std::uint8_t bytes = storageBytes(parameter);
  const bool isTruth = parameter.form == Form::Truth;
  return {.argument = static_cast<std::uint32_t>(argument),
          .place = 0,
          .bytes = bytes,
          .isTruth = isTruth,
          .mayChange = false,
          .isInteger = parameter.isInteger,
          .value = bitsOf(asked.arguments[argument], bytes, isTruth)};
}

void keepArguments(const Asked &asked, RememberedLaunch &kept) {
  kept.memory.clear();
  kept.numbers.clear();
  for (std::size_t i = 0; i < static_cast<std::size_t>(asked.kernel.parameterCount); ++i)
    if (hasMemory(asked.kernel.parameters[i]))
      keepMemory(asked, i, kept.memory);
    else
      kept.numbers.push_back(numberOf(asked, i));
}

/// Those of which the code is told, unless a requirement, the grid or a configuration follows from
/// them.
void findPlaces(const KernelRow &kernel, const CodeRow &code, std::vector<Number> &numbers) {
  if (kernel.check != nullptr || kernel.blocks != nullptr) return;
  for (const WordRow &word : std::span(code.words, static_cast<std::size_t>(code.wordCount))) {
    if (word.kind != WordKind::Scalar) continue;
    for (Number &number : numbers)
      if (number.argument == word.parameter && !kernel.parameters[number.argument].isTuned)
        number.place = word.place, number.mayChange = true;
  }
}

const void *loadedOf(const KernelRow &kernel, const imbrex_stream &on) {
  return kernel.loaded->places[placeOf(on)].load(std::memory_order_acquire);
}

// --- to find one ---

bool isSameGrid(const imbrex_grid *given, const imbrex_grid &kept) {
  return given != nullptr && given->x == kept.x && given->y == kept.y && given->z == kept.z;
}

/// Whether the same code is right with another number.
bool mayBe(std::uint64_t value, const Number &before) {
  return before.mayChange &&
         launching::ParameterAssumptions::areAlike(value, before.value, before.isInteger);
}

bool isSame(const KeptWords &kept, const void *given) {
  return given != nullptr && wordAt(given, kept.first) == kept.values[0] &&
         wordAt(given, kept.second) == kept.values[1];
}

/// Whether all that has memory is what it was, of a launch that is kept.
bool areSame(const std::vector<KeptWords> &memory, const void *const *arguments) {
  return std::ranges::all_of(
      memory, [&](const KeptWords &one) { return isSame(one, arguments[one.argument]); });
}

bool areSame(const std::vector<NarrowNumber> &numbers, const void *const *arguments) {
  return std::ranges::all_of(numbers, [&](const NarrowNumber &number) {
    return readAs<std::uint32_t>(arguments[number.argument]) == number.value;
  });
}

/// To compare them takes little, where all are of 4 bytes, as most are; else none is here.
void keepNarrow(RememberedLaunch &kept) {
  kept.narrow.clear();
  kept.areNarrow =
      std::ranges::all_of(kept.numbers, [](const Number &of) { return of.bytes == 4; });
  for (const Number &number : kept.numbers)
    if (kept.areNarrow)
      kept.narrow.push_back({number.argument, static_cast<std::uint32_t>(number.value)});
}

/// Give the launch that is kept other numbers, where they are all that differs; false where it is
/// another launch.
[[gnu::noinline]] bool changeNumbers(RememberedLaunch &kept, const void *const *arguments) {
  for (Number &number : kept.numbers) {
    const std::uint64_t value = bitsOf(arguments[number.argument], number.bytes, number.isTruth);
    if (value == number.value) continue;
    if (!mayBe(value, number)) return false;
    kept.launch.change(number.place, number.bytes, value);
    number.value = value;
    if (kept.areNarrow)
      kept.narrow[static_cast<std::size_t>(&number - kept.numbers.data())].value =
          static_cast<std::uint32_t>(value);
  }
  return true;
}

/// Whether the launch that is kept, from now on with these numbers, is the one that is asked for.
bool isThis(RememberedLaunch &kept, const void *loaded, const imbrex_grid *grid,
            const void *const *arguments) {
  return kept.loaded == loaded && (!kept.bringsGrid || isSameGrid(grid, kept.grid)) &&
         areSame(kept.memory, arguments) &&
         ((kept.areNarrow && areSame(kept.narrow, arguments)) || changeNumbers(kept, arguments));
}

/// One that did not follow the latest launch the last time.
[[gnu::noinline]] RememberedLaunch *findByHash(RememberedLaunches &recent, const Asked &asked,
                                               const void *loaded) {
  return recent.findByHash(hashOf(asked, loaded), [&](RememberedLaunch &one) {
    return isThis(one, loaded, asked.grid, asked.arguments);
  });
}

} // namespace

int launchAgain(const KernelRow &kernel, const imbrex_stream &on, const imbrex_grid *grid,
                const void *const *arguments) noexcept {
  RememberedLaunches *const recent = RememberedLaunches::find();
  const void *const loaded = loadedOf(kernel, on);
  if (recent == nullptr || loaded == nullptr) return kNotRecent;
  RememberedLaunch *kept =
      recent->findNext([&](RememberedLaunch &one) { return isThis(one, loaded, grid, arguments); });
  if (kept == nullptr) kept = findByHash(*recent, {kernel, on, grid, arguments}, loaded);
  if (kept == nullptr) return kNotRecent;
  const int error = kept->gpu->start(kept->module, kept->launch.words(), on.handle);
  if (error == 0) return IMBREX_OK;
  return refusedLaunch(kernel, *kept->gpu, kept->launch.in(on.handle), error);
}

void keepRecent(const Asked &asked, const driver::Gpu &gpu, const Ready &ready,
                const driver::Launch &launch) {
  RememberedLaunches *const recent = RememberedLaunches::make();
  if (recent == nullptr) return;
  const KernelRow &kernel = asked.kernel;
  const void *const loaded = loadedOf(kernel, asked.on);
  RememberedLaunch &kept = recent->make(hashOf(asked, loaded));
  kept.loaded = nullptr; // until all is there
  kept.bringsGrid = kernel.blocks == nullptr;
  if (kept.bringsGrid) kept.grid = *asked.grid;
  keepArguments(asked, kept);
  findPlaces(kernel, *ready.code, kept.numbers);
  keepNarrow(kept);
  kept.gpu = &gpu;
  kept.module = ready.module;
  kept.launch.keep(launch, gpu);
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
