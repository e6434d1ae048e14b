#pragma once

#include <imbrex/detail/compiler.hpp>
#include <imbrex/detail/quantity.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <source_location>

namespace imbrex {

/// How many blocks a launch runs along x, y and z. It also remembers where it was written, so that
/// an error of the launch names that line.
class grid {
public:
  explicit constexpr grid(detail::quantity x,
                          std::source_location where = std::source_location::current())
      : extents_{x, 1, 1}, where_(where) {}
  constexpr grid(detail::quantity x, detail::quantity y,
                 std::source_location where = std::source_location::current())
      : extents_{x, y, 1}, where_(where) {}
  constexpr grid(detail::quantity x, detail::quantity y, detail::quantity z,
                 std::source_location where = std::source_location::current())
      : extents_{x, y, z}, where_(where) {}

  /// 100 / 64.0 is one block and not two.
  template <class... Numbers>
    requires(std::floating_point<Numbers> || ...)
  explicit constexpr grid(Numbers... /*numbers*/) : extents_{} {
    static_assert(sizeof...(Numbers) == 0,
                  "imbrex: a grid has whole numbers of blocks; cdiv(n, extent) rounds up");
  }

  constexpr const std::array<std::int64_t, 3> &extents() const { return extents_; }
  constexpr const std::source_location &where() const { return where_; }

private:
  std::array<std::int64_t, 3> extents_;
  std::source_location where_;
};

} // namespace imbrex
