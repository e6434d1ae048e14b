#pragma once

#include <imbrex/detail/brackets.hpp>
#include <imbrex/detail/combine.hpp>
#include <imbrex/math.hpp>
#include <imbrex/shape.hpp>

/// An axis folded away: `sum<1>(x)`; without an axis the whole tile becomes a scalar.
namespace imbrex {

namespace detail {

struct reduce_tag {};
template <bool Keep, bool Ordered>
struct reduce_options : reduce_tag {
  static constexpr bool keeps = Keep;
  static constexpr bool ordered = Ordered;
};
template <bool K, bool O, bool L, bool P>
constexpr reduce_options<K || L, O || P> operator|(reduce_options<K, O>, reduce_options<L, P>) {
  return {};
}
template <class O>
concept reduce_option = std::derived_from<O, reduce_tag>;

inline constexpr int whole_tile = 1 << 20;

/// The operand's axis that is folded; a whole tile is first made one axis.
template <int Axis, class X>
constexpr int folded_axis() {
  if constexpr (Axis == whole_tile)
    return 0;
  else
    return checked_axis<X, Axis>();
}
template <int Axis, class X>
using folded_from =
    std::conditional_t<Axis == whole_tile, shape_t<static_cast<int>(shape_of<X>::elements)>,
                       shape_of<X>>;

template <class From, int Axis, bool Keep>
constexpr auto folded_shape() {
  if constexpr (Keep) {
    constexpr auto extent = [](int i) { return i == Axis ? 1 : From::extents[i]; };
    return shape_by<From::rank, extent>{};
  } else {
    constexpr auto extent = [](int i) { return From::extents[i < Axis ? i : i + 1]; };
    return shape_by<From::rank - 1, extent>{};
  }
}

template <int Axis, class X>
value record_folded(const X &x, const type &as, location where) {
  const value v = record_value(x, where);
  if constexpr (std::same_as<folded_from<Axis, X>, shape_of<X>>)
    return v;
  else
    return record("reshape", {v}, as, {}, where);
}

template <class T, class Shape, bool Keep, class Kept>
tile_t<T, std::conditional_t<Keep, Kept, Shape>> keep_axis(value v, location where) {
  if constexpr (Keep && !std::same_as<Kept, Shape>)
    return tile_t<T, Kept>(record("reshape", {v}, type_of<T, Kept>, {}, where));
  else
    return tile_t<T, std::conditional_t<Keep, Kept, Shape>>(v);
}

template <int Axis, class X, bool Keep>
struct folding {
  static_assert(shape_of<X>::rank > 0, "imbrex: a scalar has no axis to reduce");
  static_assert(!(Keep && Axis == whole_tile), "imbrex: keep_dims needs an axis");
  using from = folded_from<Axis, X>;
  static constexpr int axis = folded_axis<Axis, X>();
  using shape = decltype(folded_shape<from, axis, false>());
  using kept = decltype(folded_shape<from, axis, true>());
};

template <class T, int Axis, class X, bool Keep, bool Ordered>
auto reduce_by(std::string_view combine, const X &x, reduce_options<Keep, Ordered>,
               location where) {
  using F = folding<Axis, X, Keep>;
  value v = record_folded<Axis>(x, type_of<element_t<X>, typename F::from>, where);
  if constexpr (!std::same_as<element_t<X>, T>)
    v = record_cast(v, type_of<T, typename F::from>, where);
  v = record("reduce", {v}, type_of<T, typename F::shape>,
             {{"combine", combine}, {"axis", F::axis}, {"deterministic", Ordered ? 1 : 0}}, where);
  return keep_axis<T, typename F::shape, Keep, typename F::kept>(v, where);
}

/// Sums and products: bool and small integers in 32 bits, f16 and bf16 in f32.
template <class T>
constexpr auto accumulated() {
  static_assert(!narrow_element<T> && !is_pointer<T>,
                "imbrex: f8, f4 and e8m0 tiles have no arithmetic; cast them first");
  if constexpr (std::same_as<T, bool>)
    return std::type_identity<i32>{};
  else if constexpr (float_element<T>)
    return std::type_identity<at_least_f32<T>>{};
  else if constexpr (element_info<T>.bits < 32)
    return std::type_identity<std::conditional_t<signed_element<T>, i32, u32>>{};
  else
    return std::type_identity<T>{};
}
template <class T>
using accumulated_t = typename decltype(accumulated<T>())::type;
/// Extremes: the same, but f16, which loses nothing, stays.
template <class T>
using extreme_t = std::conditional_t<std::same_as<T, f16>, f16, accumulated_t<T>>;

template <class T>
struct bitwise_reduced {
  static_assert(integer_element<T> || std::same_as<T, bool>,
                "imbrex: reduce_and, reduce_or and reduce_xor work on integers and bools");
  using type = T;
};
template <class T>
using bitwise_t = typename bitwise_reduced<T>::type;

template <int Axis, class X, bool Keep, bool Ordered>
auto arg_reduce(std::string_view combine, const X &x, reduce_options<Keep, Ordered>,
                location where) {
  using T = element_t<X>;
  static_assert(number_element<T>, "imbrex: argmin and argmax work on integers and floats");
  using F = folding<Axis, X, Keep>;
  const value v = record_folded<Axis>(x, type_of<T, typename F::from>, where);
  const type types[2] = {type_of<T, typename F::shape>, type_of<i32, typename F::shape>};
  value results[2];
  record_many("reduce", {v}, {types, 2}, {{"combine", combine}, {"axis", F::axis}}, where, results);
  return keep_axis<i32, typename F::shape, Keep, typename F::kept>(results[1], where);
}

using plain_reduce = reduce_options<false, false>;

} // namespace detail

/// The axis stays, with extent 1: `sum<1>(x, keep_dims)`.
inline constexpr detail::reduce_options<true, false> keep_dims{};
/// Float sums follow a fixed tree, (0, 1), (2, 3), … level by level: the same bits on every device.
/// `sum<1>(x, keep_dims | deterministic)`.
inline constexpr detail::reduce_options<false, true> deterministic{};

#define IMBREX_DETAIL_REDUCE(name, combine, result)                                                \
  template <int Axis = detail::whole_tile, operand X,                                              \
            detail::reduce_option O = detail::plain_reduce>                                        \
  auto name(const X &x, O options = {}, detail::location where = detail::location::current()) {    \
    return detail::reduce_by<detail::result<detail::element_t<X>>, Axis>(combine, x, options,      \
                                                                         where);                   \
  }
/// Of bools and small integers in i32 or u32, of f16 and bf16 in f32. Integers wrap.
IMBREX_DETAIL_REDUCE(sum, "sum", accumulated_t)
IMBREX_DETAIL_REDUCE(prod, "prod", accumulated_t)
/// NaN is left out unless all are NaN. Of bf16 in f32, of small integers in i32 or u32.
IMBREX_DETAIL_REDUCE(min, "min", extreme_t)
IMBREX_DETAIL_REDUCE(max, "max", extreme_t)
/// NaN if any is.
IMBREX_DETAIL_REDUCE(min_nan, "min.nan", extreme_t)
IMBREX_DETAIL_REDUCE(max_nan, "max.nan", extreme_t)
/// Bitwise, of integers and bools, in their own type.
IMBREX_DETAIL_REDUCE(reduce_and, "and", bitwise_t)
IMBREX_DETAIL_REDUCE(reduce_or, "or", bitwise_t)
IMBREX_DETAIL_REDUCE(reduce_xor, "xor", bitwise_t)
#undef IMBREX_DETAIL_REDUCE

/// Whether any element, or every element, of a bool tile holds.
template <int Axis = detail::whole_tile, operand X, detail::reduce_option O = detail::plain_reduce>
auto any(const X &x, O options = {}, detail::location where = detail::location::current()) {
  detail::check_truths<X>();
  return detail::reduce_by<bool, Axis>("or", x, options, where);
}
template <int Axis = detail::whole_tile, operand X, detail::reduce_option O = detail::plain_reduce>
auto all(const X &x, O options = {}, detail::location where = detail::location::current()) {
  detail::check_truths<X>();
  return detail::reduce_by<bool, Axis>("and", x, options, where);
}

IMBREX_DETAIL_NUMBER_IN_BRACKETS(sum, "sum<axis>(x)")
IMBREX_DETAIL_NUMBER_IN_BRACKETS(prod, "prod<axis>(x)")
IMBREX_DETAIL_NUMBER_IN_BRACKETS(reduce_and, "reduce_and<axis>(x)")
IMBREX_DETAIL_NUMBER_IN_BRACKETS(reduce_or, "reduce_or<axis>(x)")
IMBREX_DETAIL_NUMBER_IN_BRACKETS(reduce_xor, "reduce_xor<axis>(x)")
IMBREX_DETAIL_NUMBER_IN_BRACKETS(any, "any<axis>(x)")
IMBREX_DETAIL_NUMBER_IN_BRACKETS(all, "all<axis>(x)")
IMBREX_DETAIL_NUMBER_IN_BRACKETS(argmin, "argmin<axis>(x)")
IMBREX_DETAIL_NUMBER_IN_BRACKETS(argmax, "argmax<axis>(x)")
IMBREX_DETAIL_ALWAYS_IN_BRACKETS(reduce, "reduce<axis>(x, combine)")

/// The index (i32) of the smallest or largest element, the first of equal ones; NaN as in min.
template <int Axis = detail::whole_tile, operand X, detail::reduce_option O = detail::plain_reduce>
auto argmin(const X &x, O options = {}, detail::location where = detail::location::current()) {
  return detail::arg_reduce<Axis>("argmin", x, options, where);
}
template <int Axis = detail::whole_tile, operand X, detail::reduce_option O = detail::plain_reduce>
auto argmax(const X &x, O options = {}, detail::location where = detail::location::current()) {
  return detail::arg_reduce<Axis>("argmax", x, options, where);
}

/// Fold an axis with a combine of your own, which must be associative: `reduce<0>(x, [](auto a,
/// auto b) { return a * b; })`. The combine may only compute.
template <int Axis, operand X, class F>
auto reduce(const X &x, const F &combine, detail::location where = detail::location::current()) {
  using namespace detail;
  using T = element_t<X>;
  using F0 = folding<Axis, X, false>;
  begin_body("reduce", {record_value(x, where)},
             {{"combine", std::string_view("region")}, {"axis", F0::axis}}, where);
  value result;
  record_combine<T>(combine, {type_of<T, typename F0::shape>}, where, &result);
  return tile_t<T, typename F0::shape>(result);
}

/// The same of several tiles at once: `reduce<0>(std::tuple{x, y}, f)` with `f(x0, y0, x1, y1)`
/// returning a std::tuple; gives a std::tuple.
template <int Axis, operand X, operand... More, class F>
auto reduce(const std::tuple<X, More...> &xs, const F &combine,
            detail::location where = detail::location::current()) {
  using namespace detail;
  using F0 = folding<Axis, X, false>;
  using Shape = typename F0::shape;
  static_assert((std::same_as<shape_of<X>, shape_of<More>> && ...),
                "imbrex: tiles that are reduced together have one shape");
  constexpr std::size_t n = 1 + sizeof...(More);
  const std::array<value, n> operands = std::apply(
      [&](const auto &...x) { return std::array<value, n>{record_value(x, where)...}; }, xs);
  begin_body("reduce", operands, {{"combine", std::string_view("region")}, {"axis", F0::axis}},
             where);
  const std::array<type, n> types{type_of<element_t<X>, Shape>, type_of<element_t<More>, Shape>...};
  std::array<value, n> results;
  record_combine<element_t<X>, element_t<More>...>(combine, types, where, results.data());
  return tuple_of_tiles<Shape, element_t<X>, element_t<More>...>(results);
}

} // namespace imbrex
