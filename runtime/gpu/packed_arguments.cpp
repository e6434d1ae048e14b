#include "runtime/gpu/packed_arguments.h"

#include <cstring>

namespace imbrex::gpu {

PackedArguments packArguments(const lower::KernelInterface &interface,
                              llvm::ArrayRef<ir::Argument> arguments, const MadeArguments &made) {
  std::vector<std::byte> packed;
  std::vector<std::size_t> places;
  for (const lower::Word &word : interface.words) {
    const auto size = static_cast<std::size_t>(word.bytes);
    const std::size_t at = (packed.size() + size - 1) / size * size;
    places.push_back(at);
    packed.resize(at + size);
    if (word.kind == lower::WordKind::BoxMap) {
      std::memcpy(&packed[at], made.maps[static_cast<std::size_t>(word.axis)].data(), size);
      continue;
    }
    const bool isObservations = word.kind == lower::WordKind::Observations;
    const std::uint64_t bits = isObservations ? made.observations : lower::wordOf(word, arguments);
    std::memcpy(&packed[at], &bits, size); // the low bytes: both ends have the least first
  }
  PackedArguments all{.bytes = std::move(packed)};
  if (!interface.maps.empty())
    for (const std::size_t place : places) all.each.push_back(&all.bytes[place]);
  return all;
}

} // namespace imbrex::gpu
