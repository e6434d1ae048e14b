#include "runtime/gpu/packed_arguments.h"

#include <cstring>

namespace imbrex::gpu {

PackedArguments packArguments(const lower::KernelInterface &interface,
                              llvm::ArrayRef<ir::Argument> arguments, const HiddenArguments &made) {
  const std::vector<std::int64_t> places = lower::placesOf(interface.words);
  std::vector<std::byte> packed(static_cast<std::size_t>(places.back()));
  for (std::size_t i = 0; i < interface.words.size(); ++i) {
    const lower::Word &word = interface.words[i];
    const auto at = static_cast<std::size_t>(places[i]),
               size = static_cast<std::size_t>(word.bytes);
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
    for (std::size_t i = 0; i < interface.words.size(); ++i)
      all.each.push_back(&all.bytes[static_cast<std::size_t>(places[i])]);
  return all;
}

} // namespace imbrex::gpu
