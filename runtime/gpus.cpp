#include "runtime/gpus.h"

#include <map>
#include <mutex>

namespace imbrex::runtime {
Result<const gpu::SupportedGpu *> gpuOf(const DeviceInfo &device) {
  static std::mutex mutex;
  // Never destroyed: kernels that statics hold are unloaded later.
  static auto &opened = *new std::map<std::string, std::unique_ptr<gpu::SupportedGpu>>;
  const std::scoped_lock lock(mutex);
  std::unique_ptr<gpu::SupportedGpu> &found = opened[device.name];
  if (!found) {
    const gpu::Make &make = info(device.kind).make();
    auto gpu = gpu::openGpu(make, gpu::driverPaths(make), device.number);
    if (!gpu) return gpu.failure();
    found = std::move(*gpu);
  }
  return found.get();
}

std::optional<Diagnostic> checkStream(const stream_ref &in, Location where) {
  if (in.native() == nullptr || isGpu(infoOf(in.on()).kind)) return std::nullopt;
  return diagnostic(Diag::NoStreams, where, in.on().name());
}

Result<const gpu::SupportedGpu *> gpuOf(const stream_ref &in, Location where) {
  if (auto wrong = checkStream(in, where)) return Failure{std::move(*wrong)};
  const DeviceInfo &info = infoOf(in.on());
  if (!isGpu(info.kind)) return static_cast<const gpu::SupportedGpu *>(nullptr);
  return gpuOf(info);
}

} // namespace imbrex::runtime
