#include "runtime/gpu/packed_arguments.h"

#include <cstring>

namespace imbrex::gpu {

std::vector<std::byte> packArguments(const lower::KernelInterface &interface,
                                     llvm::ArrayRef<ir::Argument> arguments,
                                     std::uint64_t observations) {
  std::vector<std::byte> packed;
  for (const lower::Word &word : interface.words) {
    const auto size = static_cast<std::size_t>(word.bytes);
    const std::size_t at = (packed.size() + size - 1) / size * size;
    packed.resize(at + size);
    const bool isObservations = word.kind == lower::WordKind::Observations;
    const std::uint64_t bits = isObservations ? observations : lower::wordOf(word, arguments);
    std::memcpy(&packed[at], &bits, size); // the low bytes: both ends have the least first
  }
  return packed;
}

} // namespace imbrex::gpu
