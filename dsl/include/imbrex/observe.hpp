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

template <class X>
concept text_like = std::convertible_to<X, std::string_view>;

template <class... Xs>
inline constexpr bool begins_with_text = false;
template <text_like S, class... Xs>
inline constexpr bool begins_with_text<S, Xs...> = true;

/// The arguments of device_print, device_assert and inline_asm.
template <class... Xs>
inline constexpr bool printable = false;
template <text_like S, class... Xs>
inline constexpr bool printable<S, Xs...> = (operand<Xs> && ...);
template <class... Xs>
inline constexpr bool assertable = false;
template <operand C, text_like S, class... Where>
inline constexpr bool assertable<C, S, Where...> = true;
template <class... Xs>
inline constexpr bool assembled = false;
template <text_like Text, text_like Constraints, text_like Target, class... Xs>
inline constexpr bool assembled<Text, Constraints, Target, Xs...> = (operand<Xs> && ...);

/// What the host would print of a value that it does not have.
template <class X, class Result>
auto refuse_to_print(Result &result) -> decltype(auto) {
  static_assert(always_false<X>,
                "imbrex: a tile has no value while the kernel is traced, and C++ cannot print it; "
                "device_print(\"x\", x) prints when the kernel runs");
  return (result);
}

} // namespace detail

/// Print the text and the tiles to standard output, one line per block.
template <operand... Xs>
void device_print(const detail::located_text &text, const Xs &...xs) {
  static_assert((element<detail::element_t<Xs>> && ...),
                "imbrex: device_print shows numbers, and no pointers; load what they point to");
  const std::array<detail::value, sizeof...(Xs)> values{detail::record_value(xs, text.where)...};
  detail::record_effect("print", values, {{"text", text.text}}, text.where);
}

template <class... Xs>
  requires(!detail::printable<Xs...>)
auto device_print(const Xs &...) {
  static_assert(detail::begins_with_text<Xs...>,
                "imbrex: device_print begins with a text: device_print(\"x\", x)");
  static_assert(!detail::begins_with_text<Xs...>,
                "imbrex: device_print shows tiles; a value of the host is known when the kernel is "
                "traced and belongs in the text");
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

template <class... Xs>
  requires(!detail::assertable<Xs...>)
auto device_assert(const Xs &...) {
  static_assert(detail::always_false<Xs...>,
                "imbrex: device_assert takes a tile of bools and a text: device_assert(x > 0, "
                "\"x is positive\"); what the host knows is tested by C++'s own assert");
}

/// What every launch has to keep, made of the arguments and of numbers: tested before anything
/// runs, on every device, so that it costs the kernel nothing.
template <operand C>
void require(const C &condition, std::string_view text,
             detail::location where = detail::location::current()) {
  static_assert(
      std::same_as<detail::element_t<C>, bool> && detail::shape_of<C>::rank == 0,
      "imbrex: require tests a scalar bool: require(a.extent(1) == b.extent(0), \"...\")");
  detail::record_effect("require", {detail::record_value(condition, where)}, {{"text", text}},
                        where);
}

template <class... Xs>
  requires(!detail::assertable<Xs...>)
auto require(const Xs &...) {
  static_assert(detail::always_false<Xs...>,
                "imbrex: require takes a condition of the kernel's arguments and a text: "
                "require(a.extent(1) == b.extent(0), \"the inner extents agree\"); what the host "
                "knows is tested by C++'s own assert");
}

/// What prints on the host.
template <class Stream, class X>
  requires(requires {
    typename Stream::char_type;
    typename Stream::traits_type;
  } && (operand<X> || detail::is_view<X>))
auto operator<<(Stream &stream, const X &) -> Stream & {
  return detail::refuse_to_print<X>(stream);
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
template <class T = void, class... Xs>
  requires(!element<T> || !detail::assembled<Xs...>)
auto inline_asm(const Xs &...) {
  static_assert(element<T>, "imbrex: inline_asm names the element type: inline_asm<f32>(...)");
  static_assert(!element<T> || detail::always_false<T>,
                "imbrex: inline_asm takes three texts, the last of which names the target, and "
                "then tiles: inline_asm<f32>(\"ex2.approx.f32 $0, $1;\", \"=f,f\", \"sm_90a\", x)");
  return scalar<f32>(detail::value());
}

} // namespace imbrex
