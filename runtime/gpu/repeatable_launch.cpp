#include "runtime/gpu/repeatable_launch.h"

#include "backend/launching/parameter_assumptions.h"

#include <new>

namespace imbrex::gpu {

void RepeatableLaunch::keep(const SupportedGpu &gpu, const LoadedKernel &kernel,
                            const Launch &launch, llvm::ArrayRef<PackedNumber> numbers) noexcept {
  try {
    launch_.keep(launch, gpu.driver(), kernel.module());
    numbers_.assign(numbers.begin(), numbers.end());
    kernel_ = &kernel;
    gpu_ = &gpu;
  } catch (const std::bad_alloc &) {
    forget();
  }
}

bool RepeatableLaunch::mayChange(std::size_t parameter, std::uint64_t before,
                                 std::uint64_t now) const {
  if (parameter >= numbers_.size() || numbers_[parameter].bytes == 0) return false;
  return launching::ParameterAssumptions::areAlike(before, now, numbers_[parameter].isInteger);
}

void RepeatableLaunch::change(std::size_t parameter, std::uint64_t now) {
  const PackedNumber &number = numbers_[parameter];
  launch_.change(number.place, number.bytes, now);
}

} // namespace imbrex::gpu
