#pragma once

#include <imbrex/detail/compiler.hpp>

#include <string_view>

namespace imbrex {

/// Where loaded or stored data should be kept. A hint changes no result.
enum class cache { normal, all, global, streaming, bypass };
/// When the cache should drop it.
enum class eviction { normal, first, last };

/// `load(p, cache::streaming)`, `load(p, eviction::last)`, or both in braces.
struct memory_hints {
  constexpr memory_hints() = default;
  constexpr memory_hints(cache where_kept) : cached(where_kept) {}
  constexpr memory_hints(eviction when_dropped) : evicted(when_dropped) {}
  constexpr memory_hints(cache where_kept, eviction when_dropped)
      : cached(where_kept), evicted(when_dropped) {}

  cache cached = cache::normal;
  eviction evicted = eviction::normal;
};

namespace detail {

constexpr std::string_view word(cache hint) {
  constexpr std::string_view words[] = {"default", "all", "global", "streaming", "bypass"};
  return words[static_cast<int>(hint)];
}
constexpr std::string_view word(eviction hint) {
  constexpr std::string_view words[] = {"normal", "first", "last"};
  return words[static_cast<int>(hint)];
}

} // namespace detail
} // namespace imbrex
