#include "runtime/aot/recent.h"

#include "runtime/aot/devices.h"
#include "runtime/aot/driver/kept_launch.h"
#include "runtime/aot/error.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace imbrex::aot {
namespace {

/// A word of an argument, which has to be the same again.
struct Fixed {
  std::uint32_t argument, offset;
  std::uint64_t value;
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

struct RecentLaunch {
  const void *loaded = nullptr; ///< What the GPU has loaded of the kernel, which no other has.
  imbrex_grid grid{};           ///< That the launch brought, of a kernel that does not compute it.
  std::vector<Fixed> fixed = {};
  std::vector<Number> numbers = {};
  const driver::Gpu *gpu = nullptr;
  driver::Module module = {};
  driver::KeptLaunch launch = {};
};

using RecentLaunches = driver::Recent<RecentLaunch>;

template <class T>
T readAs(const void *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// The bits of a number, as they are passed.
std::uint64_t bitsOf(const void *given, std::uint8_t bytes, bool isTruth) {
  switch (bytes) {
  case 8: return readAs<std::uint64_t>(given);
  case 4: return readAs<std::uint32_t>(given);
  case 2: return readAs<std::uint16_t>(given);
  default: break;
  }
  const auto bits = readAs<std::uint8_t>(given);
  return isTruth && bits != 0 ? 1 : bits;
}

driver::LaunchHash hashOf(const Asked &asked, const void *loaded) {
  driver::LaunchHash hash(reinterpret_cast<std::uintptr_t>(loaded));
  const Kernel &kernel = asked.kernel;
  const auto count =
      std::min(static_cast<std::size_t>(kernel.parameterCount), driver::LaunchHash::kMostArguments);
  for (std::size_t i = 0; i < count; ++i)
    // An imbrex_array begins with its address, and so does an imbrex_memory.
    if (hasMemory(kernel.parameters[i]) && asked.arguments[i] != nullptr)
      hash.add(readAs<std::uint64_t>(asked.arguments[i]));
  return hash;
}

// --- to keep one ---

void addFixed(const Asked &asked, std::size_t argument, std::size_t offset, std::size_t words,
              std::vector<Fixed> &fixed) {
  const auto *const from = static_cast<const std::byte *>(asked.arguments[argument]) + offset;
  for (std::size_t i = 0; i < words; ++i)
    fixed.push_back({.argument = static_cast<std::uint32_t>(argument),
                     .offset = static_cast<std::uint32_t>(offset + i * 8),
                     .value = readAs<std::uint64_t>(from + i * 8)});
}

Number numberOf(const Asked &asked, std::size_t argument) {
  const Parameter &parameter = asked.kernel.parameters[argument];
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

void keepArguments(const Asked &asked, RecentLaunch &kept) {
  kept.fixed.clear();
  kept.numbers.clear();
  for (std::size_t i = 0; i < static_cast<std::size_t>(asked.kernel.parameterCount); ++i) {
    const Parameter &parameter = asked.kernel.parameters[i];
    switch (parameter.form) {
    case Form::Scalar:
    case Form::Truth: kept.numbers.push_back(numberOf(asked, i)); break;
    case Form::Pointer: addFixed(asked, i, 0, sizeof(imbrex_memory) / 8, kept.fixed); break;
    case Form::View:
      addFixed(asked, i, offsetof(imbrex_array, data), 1, kept.fixed);
      addFixed(asked, i, offsetof(imbrex_array, extents), parameter.rank, kept.fixed);
      addFixed(asked, i, offsetof(imbrex_array, strides), parameter.rank, kept.fixed);
      break;
    }
  }
}

/// Those of which the code is told, unless a requirement, the grid or a configuration follows from
/// them.
void findPlaces(const Kernel &kernel, const Code &code, std::vector<Number> &numbers) {
  if (kernel.check != nullptr || kernel.blocks != nullptr || kernel.tunedCount > 0) return;
  for (const Word &word : std::span(code.words, static_cast<std::size_t>(code.wordCount))) {
    if (word.kind != WordKind::Scalar) continue;
    for (Number &number : numbers)
      if (number.argument == word.parameter) number.place = word.place, number.mayChange = true;
  }
}

const void *loadedOf(const Kernel &kernel, const imbrex_stream &on) {
  return kernel.loaded->places[placeOf(on)].load(std::memory_order_acquire);
}

// --- to find one ---

/// A grid that the kernel computes follows from the arguments.
bool isSameGrid(const Asked &asked, const imbrex_grid &kept) {
  if (asked.kernel.blocks != nullptr) return true;
  const imbrex_grid *const given = asked.grid;
  return given != nullptr && given->x == kept.x && given->y == kept.y && given->z == kept.z;
}

/// Whether the same code is right with another number.
bool mayBe(std::uint64_t value, const Number &before) {
  return before.mayChange &&
         launching::ParameterAssumptions::areAlike(value, before.value, before.isInteger);
}

/// Give the launch that is kept other numbers, where they are all that differs; false where it is
/// another launch.
bool adapt(RecentLaunch &kept, const void *const *arguments) {
  for (const Fixed &word : kept.fixed) {
    const auto *const given = static_cast<const std::byte *>(arguments[word.argument]);
    if (given == nullptr || readAs<std::uint64_t>(given + word.offset) != word.value) return false;
  }
  for (Number &number : kept.numbers) {
    const void *const given = arguments[number.argument];
    if (given == nullptr) return false;
    const std::uint64_t value = bitsOf(given, number.bytes, number.isTruth);
    if (value == number.value) continue;
    if (!mayBe(value, number)) return false;
    kept.launch.change(number.place, number.bytes, value);
    number.value = value;
  }
  return true;
}

} // namespace

int launchAgain(const Asked &asked) {
  const void *const loaded = loadedOf(asked.kernel, asked.on);
  const RecentLaunches *const recent = RecentLaunches::find();
  if (recent == nullptr || loaded == nullptr) return kNotRecent;
  RecentLaunch *const kept = recent->find(hashOf(asked, loaded));
  if (kept == nullptr || kept->loaded != loaded || !isSameGrid(asked, kept->grid) ||
      !adapt(*kept, asked.arguments))
    return kNotRecent;
  const driver::Launch &launch = kept->launch.in(asked.on.handle);
  const int error = kept->gpu->start(kept->module, launch);
  return error == 0 ? IMBREX_OK : refusedLaunch(asked.kernel, *kept->gpu, launch, error);
}

void keepRecent(const Asked &asked, const driver::Gpu &gpu, const Ready &ready,
                const driver::Launch &launch) {
  RecentLaunches *const recent = RecentLaunches::make();
  if (recent == nullptr) return;
  const Kernel &kernel = asked.kernel;
  const void *const loaded = loadedOf(kernel, asked.on);
  RecentLaunch &kept = recent->make(hashOf(asked, loaded));
  kept.loaded = nullptr; // until all is there
  if (kernel.blocks == nullptr) kept.grid = *asked.grid;
  keepArguments(asked, kept);
  findPlaces(kernel, *ready.code, kept.numbers);
  kept.gpu = &gpu;
  kept.module = ready.module;
  kept.launch.keep(launch);
  kept.loaded = loaded;
}

int refusedLaunch(const Kernel &kernel, const driver::Gpu &gpu, const driver::Launch &launch,
                  int error) {
  return fail(IMBREX_REFUSED, "%s refuses the launch of '%s' with %d x %d x %d blocks of %d: %s",
              gpu.description().c_str(), kernel.name, launch.grid[0], launch.grid[1],
              launch.grid[2], launch.threads, gpu.textOf(error).c_str());
}

} // namespace imbrex::aot
