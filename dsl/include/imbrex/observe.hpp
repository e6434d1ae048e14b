#pragma once

#include <imbrex/tile.hpp>

/// What a kernel shows while it runs, and machine instructions.
namespace imbrex {

namespace detail {

/// A text, and the line of the call that it is written in.
struct located_text {
  template <std::convertible_to<std::string_view> S>
  located_text(const S &s, location line = location::current()) : text(s), where(line) {}
  std::string_view text;
  location where;
};
/// The same, of a call with an effect that gives a value.
struct effect_text : effect_site {
  template <std::convertible_to<std::string_view> S>
  effect_text(const S &s, location line = location::current()) : effect_site(line), text(s) {}
  std::string_view text;
};

} // namespace detail

/// Print the text and the tiles to standard output, one line per block.
template <operand... Xs>
void device_print(const detail::located_text &text, const Xs &...xs) {
  const std::array<detail::value, sizeof...(Xs)> values{detail::record_value(xs, text.where)...};
  detail::record_effect("print", values, {{"text", text.text}}, text.where);
}

/// Stop the launch with the text if an element is false.
template <operand C>
void device_assert(const C &condition, std::string_view text,
                   detail::location where = detail::location::current()) {
  static_assert(std::same_as<detail::element_t<C>, bool>,
                "imbrex: device_assert tests a bool tile");
  detail::record_effect("assert", {detail::record_value(condition, where)}, {{"text", text}},
                        where);
}

/// Instructions of one target, applied element by element: text and constraints as in LLVM's inline
/// assembly, the target as `imbrex targets` prints it. Arguments broadcast.
template <element T, operand... Xs>
auto inline_asm(const detail::effect_text &text, std::string_view constraints,
                std::string_view target, const Xs &...xs) {
  using namespace detail;
  using Shape = broadcast_t<scalar_shape, shape_of<Xs>...>;
  const std::array<value, sizeof...(Xs)> operands{
      record_as<element_t<Xs>, Shape>(xs, text.where)...};
  return tile_t<T, Shape>(
      record("inline_asm", operands, type_of<T, Shape>,
             {{"text", text.text}, {"constraints", constraints}, {"target", target}}, text.where));
}

} // namespace imbrex
