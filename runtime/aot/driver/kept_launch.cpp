#include "runtime/aot/driver/kept_launch.h"

#include <algorithm>
#include <cstring>

namespace imbrex::driver {

void KeptLaunch::keep(const Launch &launch, const Gpu &gpu, const Module &kernel) {
  const std::span<const std::byte> given = launch.arguments;
  lines_.resize((given.size() + sizeof(Line) - 1) / sizeof(Line));
  std::ranges::copy(given, list());
  each_.clear();
  for (void *const one : launch.each)
    each_.push_back(list() + (static_cast<const std::byte *>(one) - given.data()));
  launch_ = launch;
  launch_.arguments = std::span(list(), given.size());
  launch_.each = each_;
  words_.set(launch_, gpu, kernel);
}

void KeptLaunch::change(std::size_t place, std::size_t bytes, std::uint64_t value) {
  std::memcpy(list() + place, &value, bytes); // processors that there is code for have it so
}

} // namespace imbrex::driver
