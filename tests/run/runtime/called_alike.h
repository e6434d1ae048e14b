#pragma once

#include <cstdint>
#include <type_traits>

/// For what we say of vendors' functions against what their headers say.
namespace imbrex::testing {

/// Whether two parameters are passed alike: an address in the device's memory may be a pointer of
/// theirs and a number of ours.
template <class Ours, class Theirs>
constexpr bool isAlike =
    sizeof(Ours) == sizeof(Theirs) &&
    (std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> || std::is_same_v<Ours, std::uint64_t>);

template <class... Ours, class Result, class... Theirs>
constexpr bool areCalledAlike(int (*)(Ours...), Result (*)(Theirs...)) {
  static_assert(sizeof(Result) == sizeof(int));
  if constexpr (sizeof...(Ours) == sizeof...(Theirs))
    return (isAlike<Ours, Theirs> && ...);
  else
    return false;
}

} // namespace imbrex::testing
