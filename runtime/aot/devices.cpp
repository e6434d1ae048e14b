#include "runtime/aot/devices.h"

#include "runtime/aot/error.h"
#include "runtime/aot/log.h"

#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace imbrex::aot {
namespace {

using driver::Problem;

/// Null until they are opened. Never destroyed: what is loaded on them lives as long.
constinit std::array<std::atomic<const driver::Gpu *>, kGpuPlaces> opened{};
constinit std::mutex opening;

/// Where the vendor's variable says; who runs with another's rights is not led anywhere by it.
std::vector<std::string> pathsOf(const driver::Vendor &vendor) {
  const char *path = secure_getenv(vendor.variable);
  if (path != nullptr && *path != '\0') return {path};
  return {vendor.libraries.begin(), vendor.libraries.end()};
}

/// Keeps why there is no such device; who asked for it gives IMBREX_NO_DEVICE.
void keepProblem(const driver::Vendor &vendor, const imbrex_stream &on, const Problem &problem) {
  const std::string device = driver::nameOf(vendor, on.number);
  const char *const name = device.c_str(), *const text = problem.text.c_str();
  switch (problem.kind) {
  case Problem::Kind::NoLibrary:
    fail(IMBREX_NO_DEVICE, "there is no %s, since %s is not found (%s); %s may say where", name,
         vendor.driver, text, vendor.variable);
    return;
  case Problem::Kind::LacksFunction:
    fail(IMBREX_NO_DEVICE, "there is no %s, since %s (%s) has no %s: it is too old", name,
         vendor.driver, text, problem.function.c_str());
    return;
  case Problem::Kind::NoDevice:
    fail(IMBREX_NO_DEVICE, "there is no %s, since %s finds %s", name, vendor.driver, text);
    return;
  case Problem::Kind::Refused: fail(IMBREX_NO_DEVICE, "%s can't be used: %s", name, text); return;
  }
}

/// Of the stream that is the best where IMBREX_DEVICE says what there can't be.
constexpr std::int32_t kUnknownDevice = -1;

/// Empty where it says nothing.
std::string_view namedDevice() {
  const char *name = std::getenv("IMBREX_DEVICE");
  return name != nullptr ? name : "";
}

/// `cuda` is `cuda:0`. False where it is no GPU's name.
bool isGpuCalled(std::string_view name, imbrex_stream &on) {
  const std::size_t colon = name.find(':');
  const std::string_view kind = name.substr(0, colon);
  on = {.device = IMBREX_HOST, .number = 0, .handle = nullptr};
  if (kind == driver::cuda().device) on.device = IMBREX_CUDA;
  if (kind == driver::hip().device) on.device = IMBREX_HIP;
  if (on.device == IMBREX_HOST) return false;
  if (colon == std::string_view::npos) return true;
  const std::string_view number = name.substr(colon + 1);
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), on.number);
  return error == std::errc{} && end == number.data() + number.size();
}

} // namespace

const driver::Vendor &vendorOf(const imbrex_stream &on) {
  return on.device == IMBREX_CUDA ? driver::cuda() : driver::hip();
}

int checkOther(const imbrex_stream *stream) {
  if (stream == nullptr) return fail(IMBREX_BAD_ARGUMENT, "there is no stream");
  if (stream->device == kUnknownDevice)
    return fail(IMBREX_NO_DEVICE, "IMBREX_DEVICE is '%s'; here it may be host, cuda:N, hip:N, auto",
                namedDevice().data());
  const bool isKnown = stream->device >= IMBREX_HOST && stream->device <= IMBREX_HIP;
  if (!isKnown)
    return fail(IMBREX_BAD_ARGUMENT, "a stream of device %d, which there is not", stream->device);
  if (stream->device == IMBREX_HOST && stream->handle != nullptr)
    return fail(IMBREX_BAD_ARGUMENT, "the host has no streams, but a handle of one is given");
  if (stream->device != IMBREX_HOST)
    return fail(IMBREX_BAD_ARGUMENT, "a stream of %s:%d; devices are numbered from 0 to %zu",
                vendorOf(*stream).device, stream->number, kMostGpus - 1);
  return IMBREX_OK;
}

const driver::Gpu *gpuOf(const imbrex_stream &on) {
  std::atomic<const driver::Gpu *> &place = opened[placeOf(on)];
  if (const driver::Gpu *gpu = place.load(std::memory_order_acquire)) return gpu;
  const std::scoped_lock lock(opening);
  if (const driver::Gpu *gpu = place.load(std::memory_order_acquire)) return gpu;
  const driver::Vendor &vendor = vendorOf(on);
  Problem problem{};
  auto gpu = driver::open(vendor, on.number, pathsOf(vendor), problem);
  if (!gpu) return keepProblem(vendor, on, problem), nullptr;
  log(LogLevel::Info, "device", "device=%s opened", gpu->description().c_str());
  place.store(gpu.get(), std::memory_order_release);
  return gpu.release();
}

} // namespace imbrex::aot

imbrex_stream imbrex_best_stream() {
  using namespace imbrex::aot;
  constexpr imbrex_stream kHostStream{.device = IMBREX_HOST, .number = 0, .handle = nullptr};
  const std::string_view name = namedDevice();
  imbrex_stream on = kHostStream;
  if (name == "host" || isGpuCalled(name, on)) return on;
  if (!name.empty() && name != "auto")
    return {.device = kUnknownDevice, .number = 0, .handle = nullptr};
  const KeptErrorText kept; // that there is no GPU is no error
  for (const std::int32_t kind : {IMBREX_CUDA, IMBREX_HIP}) {
    on = {.device = kind, .number = 0, .handle = nullptr};
    if (gpuOf(on) != nullptr) return on;
  }
  return kHostStream;
}
