#pragma once

#include <imbrex/tile.hpp>

/// Words for what is written in the wrong brackets: axes, extents and counts are template
/// arguments.
namespace imbrex::detail {

/// What is given behind a tile begins with a number of the host.
template <class... Given>
inline constexpr bool begins_with_number = false;
template <std::integral I, class... Rest>
inline constexpr bool begins_with_number<I, Rest...> = true;

/// What stands for the result of a call that is refused: it goes with tiles of every shape.
template <class X>
auto refused_result() {
  return scalar<element_t<X>>(value());
}

} // namespace imbrex::detail

/// A call that lacks template arguments, and how it is written. The condition keeps it apart from
/// calls that may go without.
#define IMBREX_DETAIL_IN_BRACKETS(name, form, ...)                                                 \
  template <operand X, class... Given>                                                             \
    requires(__VA_ARGS__)                                                                          \
  auto name(const X &, const Given &...) {                                                         \
    static_assert(detail::always_false<X>, "imbrex: axes, extents and counts are known when C++ "  \
                                           "compiles, and stand in <>: " form);                    \
    return detail::refused_result<X>();                                                            \
  }
/// Of a function that always has template arguments.
#define IMBREX_DETAIL_ALWAYS_IN_BRACKETS(name, form) IMBREX_DETAIL_IN_BRACKETS(name, form, true)
/// Of one that may go without, but takes no number of the host.
#define IMBREX_DETAIL_NUMBER_IN_BRACKETS(name, form)                                               \
  IMBREX_DETAIL_IN_BRACKETS(name, form, detail::begins_with_number<Given...>)
