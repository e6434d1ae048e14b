#include "runtime/aot/launch.h"

#include "runtime/aot/computed.h"
#include "runtime/aot/devices.h"
#include "runtime/aot/dlpack.h"
#include "runtime/aot/error.h"
#include "runtime/aot/given.h"
#include "runtime/aot/host_code.h"
#include "runtime/aot/observed.h"
#include "runtime/aot/recent.h"
#include "runtime/aot/refused_launch.h"
#include "runtime/aot/tuning.h"
#include "runtime/aot/watched.h"

#include <cstring>
#include <new>
#include <string>

namespace imbrex::aot {
namespace {

/// The argument list of a launch.
struct Packed {
  alignas(64) std::array<std::byte, kMostArgumentBytes> bytes;
  std::array<void *, kMostWords> each; ///< Where each word is, of code that `isToldEach`.
  std::uint64_t observations = 0;      ///< Where the launch notes what it prints and asserts.
};

std::uint64_t valueOf(const WordRow &word, const BoundArguments &bound) {
  const Bound &argument = bound[word.parameter];
  switch (word.kind) {
  case WordKind::Scalar:
  case WordKind::Pointer: return argument.scalar;
  case WordKind::Extent:
    return static_cast<std::uint64_t>(argument.view != nullptr ? argument.view->extents[word.axis]
                                                               : argument.count);
  case WordKind::Stride: return static_cast<std::uint64_t>(argument.view->strides[word.axis]);
  case WordKind::BoxMap:
  case WordKind::Observations: break; // no argument's
  }
  return 0;
}

int describeBoxes(const driver::Gpu &gpu, const BoxMapRow &map, const imbrex_array &view,
                  std::byte *to) {
  const auto rank = static_cast<std::size_t>(map.rank);
  driver::BoxMapBytes bytes;
  const int error = gpu.describeBoxes({.box = std::span(map.box, rank),
                                       .extents = std::span(view.extents, rank),
                                       .strides = std::span(view.strides, rank),
                                       .elementBytes = map.elementBytes,
                                       .swizzleBytes = map.swizzleBytes,
                                       .data = view.data},
                                      bytes);
  std::memcpy(to, bytes.data(), bytes.size());
  return error;
}

/// Whether launches say where each argument is.
bool isToldEach(const CodeRow &code) { return code.mapCount > 0 || attributesOf(code).areAny(); }

/// 0, or the driver's error.
int pack(const driver::Gpu &gpu, const CodeRow &code, const BoundArguments &bound, Packed &packed) {
  const bool tellsEach = isToldEach(code);
  for (std::size_t i = 0; i < static_cast<std::size_t>(code.wordCount); ++i) {
    const WordRow &word = code.words[i];
    std::byte *const to = &packed.bytes[word.place];
    if (tellsEach) packed.each[i] = to;
    if (word.kind == WordKind::BoxMap) {
      const BoxMapRow &map = code.maps[word.axis];
      if (const int error = describeBoxes(gpu, map, *bound[word.parameter].view, to); error != 0)
        return error;
      continue;
    }
    const std::uint64_t value = word.kind == WordKind::Observations
                                    ? packed.observations
                                    : valueOf(word, bound); // the least bytes come first
    std::memcpy(to, &value, word.bytes);
  }
  return 0;
}

/// Memory of the host, or of another GPU, can't be reached by a kernel.
int checkOwners(const KernelRow &kernel, const driver::Gpu &gpu, const BoundArguments &bound) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(kernel.parameterCount); ++i) {
    const ParameterRow &parameter = kernel.parameters[i];
    if (!hasMemory(parameter) || bound[i].scalar == 0) continue;
    const auto owner = gpu.ownerOf(reinterpret_cast<const void *>(bound[i].scalar));
    if (owner.isDevice && owner.number == gpu.number()) continue;
    const std::string whose =
        owner.isDevice ? driver::nameOf(gpu.vendor(), owner.number) : "the host";
    return fail(IMBREX_BAD_ARGUMENT, "the argument '%s' of '%s' is in memory of %s, not of %s",
                parameter.name, kernel.name, whose.c_str(), gpu.description().c_str());
  }
  return IMBREX_OK;
}

/// There are whole clusters alone.
int checkClusters(const KernelRow &kernel, const CodeRow &code, const BoundArguments &bound) {
  for (std::size_t axis = 0; axis < bound.grid.size(); ++axis)
    if (bound.grid[axis] % code.cluster[axis] != 0)
      return fail(IMBREX_BAD_ARGUMENT,
                  "the grid of '%s' has %d blocks along %c, no multiple of the %d of its clusters",
                  kernel.name, bound.grid[axis], "xyz"[axis], code.cluster[axis]);
  return IMBREX_OK;
}

/// The kernel that is asked for, or a configuration of it, and its code on a GPU.
struct ReadyLaunch {
  const Asked &asked;
  const driver::Gpu &gpu;
  const KernelRow &kernel;
  const Ready &ready;
};

/// `observed`: it notes what it prints and asserts there; else it may be made again.
int start(const ReadyLaunch &of, const BoundArguments &bound, const ObservedLaunch *observed) {
  const auto &[asked, gpu, kernel, ready] = of;
  const CodeRow &code = *ready.code;
  if (const int status = checkClusters(kernel, code, bound); status != IMBREX_OK) return status;
  Packed packed;
  if (observed != nullptr) packed.observations = observed->address();
  if (const int error = pack(gpu, code, bound, packed); error != 0)
    return fail(IMBREX_REFUSED, "%s refuses to describe the boxes of an argument of '%s': %s",
                gpu.description().c_str(), kernel.name, gpu.textOf(error).c_str());
  const std::size_t each = isToldEach(code) ? static_cast<std::size_t>(code.wordCount) : 0;
  const driver::Launch launch{
      .grid = bound.grid,
      .threads = code.threads,
      .sharedBytes = code.sharedBytes,
      .arguments = std::span(packed.bytes).first(static_cast<std::size_t>(code.argumentBytes)),
      .each = std::span(packed.each).first(each),
      .attributes = attributesOf(code),
      .stream = asked.on.handle};
  if (const int error = gpu.start(ready.module, launch); error != 0)
    return refusedLaunch(kernel, gpu, launch, error);
  if (observed != nullptr) return IMBREX_OK;
  try {
    keepRecent(asked, gpu, ready, launch);
  } catch (const std::bad_alloc &) {
    return IMBREX_OK; // the next one is looked at as this one was
  }
  return IMBREX_OK;
}

/// One that prints or asserts is waited for.
int launchOn(const driver::Gpu &gpu, const Asked &asked, const KernelRow &kernel,
             BoundArguments &bound) {
  if (const int status = checkOwners(kernel, gpu, bound); status != IMBREX_OK) return status;
  Ready ready;
  if (const int status = makeReady(kernel, gpu, asked.on, bound, ready); status != IMBREX_OK)
    return status;
  const ReadyLaunch launch{asked, gpu, kernel, ready};
  const SitesRow *const sites = sitesOf(kernel, *ready.code);
  if (sites == nullptr) return start(launch, bound, nullptr);
  ObservedLaunch observed(kernel, *sites, gpu, asked.on.handle);
  int status = observed.prepare();
  if (status == IMBREX_OK) status = start(launch, bound, &observed);
  return status == IMBREX_OK ? observed.tell() : status;
}

/// The same, wherever it runs. It has its own requirements and grid.
int launchConfig(const Asked &asked, const KernelRow &kernel, BoundArguments &bound) {
  int status = checkRequired(kernel, bound);
  if (status == IMBREX_OK) status = bindGrid(kernel, asked.grid, bound);
  if (status != IMBREX_OK) return status;
  if (bound.blocks() == 0) return IMBREX_OK;
  if (asked.on.device == IMBREX_HOST) return runOnHost(kernel, bound);
  const driver::Gpu *gpu = gpuOf(asked.on);
  return gpu == nullptr ? IMBREX_NO_DEVICE : launchOn(*gpu, asked, kernel, bound);
}

/// By the tuning table. One whose code the GPU's driver refuses is passed over.
const KernelRow &tunedConfig(const Asked &asked, const driver::Gpu *gpu, BoundArguments &bound) {
  const KernelRow &kernel = asked.kernel;
  const CodeRow *const usual =
      gpu == nullptr ? usualCode(kernel) : usualCode(kernel, *gpu, asked.on);
  if (usual == nullptr) return kernel; // which says so
  const KernelRow &config = configFor(kernel, *usual, bound);
  if (gpu == nullptr || &config == &kernel) return config;
  Ready ready;
  return makeReady(config, *gpu, asked.on, bound, ready) == IMBREX_REFUSED ? kernel : config;
}

/// One that is like none that was made lately.
int launchNew(const Asked &asked) {
  const bool isOnHost = asked.on.device == IMBREX_HOST;
  const KernelRow &kernel = asked.kernel;
  BoundArguments bound;
  if (const int status = bindArguments(kernel, asked.arguments, bound); status != IMBREX_OK)
    return status;
  if (kernel.tunedCount == 0) return launchConfig(asked, kernel, bound);
  if (kernel.blocks == nullptr) { // an empty grid wants no device
    const int status = bindGrid(kernel, asked.grid, bound);
    if (status != IMBREX_OK || bound.blocks() == 0) return status;
  }
  const driver::Gpu *const gpu = isOnHost ? nullptr : gpuOf(asked.on);
  if (gpu == nullptr && !isOnHost) return IMBREX_NO_DEVICE;
  return launchConfig(asked, tunedConfig(asked, gpu, bound), bound);
}

/// Nothing is thrown to a caller in C.
template <class Launch>
int guarded(const KernelRow &kernel, Launch launch) {
  try {
    return launch();
  } catch (const std::bad_alloc &) {
    return fail(IMBREX_NO_MEMORY, "there is no memory to launch '%s'", kernel.name);
  }
}

/// Of a stream that there may be.
int launchUnwatched(const Asked &asked) {
  GivenWords words;
  int status = kNotRecent;
  if (isOfGpu(&asked.on) && words.take(asked.kernel, asked.arguments))
    status = launchAgain({asked.kernel, asked.on, asked.grid, words.list()});
  return status != kNotRecent ? status : launchNew(asked);
}
/// The same.
int launchWords(const AskedWords &asked) {
  const int status = isOfGpu(&asked.on) ? launchAgain(asked) : kNotRecent;
  if (status != kNotRecent) return status;
  const GivenArguments arguments(asked.kernel, asked.words);
  return launchNew({asked.kernel, asked.on, asked.grid, arguments.list()});
}

int launch(const KernelRow &kernel, const imbrex_stream *stream, const imbrex_grid *grid,
           const void *const *arguments) {
  if (const int status = check(stream); status != IMBREX_OK) return status;
  WatchedLaunch watched(kernel, *stream);
  return watched.ended(launchUnwatched({kernel, *stream, grid, arguments}));
}

/// Of tensors.
int launchTensors(const KernelRow &kernel, const imbrex_stream *stream, const imbrex_grid *grid,
                  const void *const *arguments) {
  if (const int status = check(stream); status != IMBREX_OK) return status;
  WatchedLaunch watched(kernel, *stream);
  TensorArguments taken;
  int status = taken.take(kernel, *stream, arguments);
  if (status == IMBREX_OK) status = launchUnwatched({kernel, *stream, grid, taken.list()});
  return watched.ended(status);
}

int load(std::span<const KernelRow *const> kernels, const imbrex_stream *stream) {
  if (const int status = check(stream); status != IMBREX_OK) return status;
  if (stream->device == IMBREX_HOST) return IMBREX_OK;
  const driver::Gpu *const gpu = gpuOf(*stream);
  if (gpu == nullptr) return IMBREX_NO_DEVICE;
  for (const KernelRow *kernel : kernels)
    if (const int status = loadAll(*kernel, *gpu, *stream); status != IMBREX_OK) return status;
  return IMBREX_OK;
}

} // namespace

int launchUnexpected(const KernelRow &kernel, const imbrex_stream *stream, const imbrex_grid *grid,
                     const std::uint64_t *words) noexcept {
  return guarded(kernel, [&] {
    if (const int status = check(stream); status != IMBREX_OK) return status;
    WatchedLaunch watched(kernel, *stream);
    return watched.ended(launchWords({kernel, *stream, grid, words}));
  });
}

} // namespace imbrex::aot

/// Load all code of kernels for the stream's device.
extern "C" int imbrex_aot_load_4(const imbrex::aot::KernelRow *const *kernels, std::int64_t count,
                                 const imbrex_stream *stream) {
  return imbrex::aot::guarded(**kernels, [&] {
    return imbrex::aot::load({kernels, static_cast<std::size_t>(count)}, stream);
  });
}

/// Launch a kernel. Each of the arguments points to an imbrex_array, an imbrex_memory, or a scalar
/// in its own type.
extern "C" int imbrex_aot_launch_4(const imbrex::aot::KernelRow *kernel,
                                   const imbrex_stream *stream, const imbrex_grid *grid,
                                   const void *const *arguments) {
  return imbrex::aot::guarded(
      *kernel, [&] { return imbrex::aot::launch(*kernel, stream, grid, arguments); });
}

/// The same of one that prints or asserts, which has to be waited for and is never like another.
extern "C" int imbrex_aot_launch_observing_4(const imbrex::aot::KernelRow *kernel,
                                             const imbrex_stream *stream, const imbrex_grid *grid,
                                             const void *const *arguments)
    __attribute__((alias("imbrex_aot_launch_4")));

/// The same, with an imbrex_dltensor for each that has memory.
extern "C" int imbrex_aot_launch_dlpack_4(const imbrex::aot::KernelRow *kernel,
                                          const imbrex_stream *stream, const imbrex_grid *grid,
                                          const void *const *arguments) {
  return imbrex::aot::guarded(
      *kernel, [&] { return imbrex::aot::launchTensors(*kernel, stream, grid, arguments); });
}
