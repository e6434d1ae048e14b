#include "runtime/gpu/repeatable_launch.h"

#include "backend/launching/parameter_assumptions.h"

namespace imbrex::gpu {

void RepeatableLaunch::keep(const Gpu &gpu, const LoadedKernel &kernel, const Launch &launch,
                            llvm::ArrayRef<PackedNumber> numbers) {
  kernel_ = &kernel;
  launch_.keep(launch);
  numbers_.assign(numbers.begin(), numbers.end());
  gpu_ = &gpu;
}

bool RepeatableLaunch::mayChange(std::size_t parameter, std::uint64_t before,
                                 std::uint64_t now) const {
  constexpr auto kDivisor = std::uint64_t{launching::ParameterAssumptions::kDivisor};
  const bool isPassed = parameter < numbers_.size() && numbers_[parameter].bytes > 0;
  return isPassed && (before % kDivisor == 0) == (now % kDivisor == 0);
}

void RepeatableLaunch::change(std::size_t parameter, std::uint64_t now) {
  const PackedNumber &number = numbers_[parameter];
  launch_.change(number.place, number.bytes, now);
}

} // namespace imbrex::gpu
