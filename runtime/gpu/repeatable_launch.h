#pragma once

#include "runtime/aot/driver/kept_launch.h"
#include "runtime/gpu/packed_arguments.h"
#include "runtime/gpu/supported_gpu.h"

#include <vector>

namespace imbrex::gpu {

/// A launch that was made, and can be made again with other numbers.
class RepeatableLaunch {
public:
  /// In place of what was here; where there is no memory for it nothing. Numbers are those of the
  /// kernel's parameters. It throws nothing, since the launch has been made.
  void keep(const SupportedGpu &gpu, const LoadedKernel &kernel, const Launch &launch,
            llvm::ArrayRef<PackedNumber> numbers) noexcept;
  void forget() { gpu_ = nullptr; }
  bool isThere() const { return gpu_ != nullptr; }

  /// Whether the same code is right with another number for a parameter.
  bool mayChange(std::size_t parameter, std::uint64_t before, std::uint64_t now) const;
  void change(std::size_t parameter, std::uint64_t now);

  /// While the kernel is loaded. 0, or the driver's error, which `started` tells.
  int start(void *stream) const { return launch_.start(stream); }
  Result<void> started(int error) const { return gpu_->started(*kernel_, launch_.launch(), error); }

private:
  const SupportedGpu *gpu_ = nullptr;
  const LoadedKernel *kernel_ = nullptr;
  driver::KeptLaunch launch_;
  std::vector<PackedNumber> numbers_;
};

} // namespace imbrex::gpu
