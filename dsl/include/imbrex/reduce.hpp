#pragma once

#include <imbrex/detail/brackets.hpp>
#include <imbrex/detail/combine.hpp>
#include <imbrex/detail/folding.hpp>
#include <imbrex/math.hpp>

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
template <int Axis, operand X, class F, detail::reduce_option O = detail::plain_reduce>
auto reduce(const X &x, const F &combine, O = {},
            detail::location where = detail::location::current()) {
  using namespace detail;
  using T = element_t<X>;
  using F0 = folding<Axis, X, O::keeps>;
  begin_body("reduce", {record_value(x, where)},
             {{"combine", std::string_view("region")}, {"axis", F0::axis}}, where);
  value result;
  record_combine<T>(combine, {type_of<T, typename F0::shape>}, where, &result);
  return keep_axis<T, typename F0::shape, O::keeps, typename F0::kept>(result, where);
}

/// The same of several tiles at once: `reduce<0>(std::tuple{x, y}, f)` with `f(x0, y0, x1, y1)`
/// returning a std::tuple; gives a std::tuple.
template <int Axis, operand X, operand... More, class F,
          detail::reduce_option O = detail::plain_reduce>
auto reduce(const std::tuple<X, More...> &xs, const F &combine, O = {},
            detail::location where = detail::location::current()) {
  using namespace detail;
  using F0 = folding<Axis, X, O::keeps>;
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
  return [&]<std::size_t... I, class... T>(std::index_sequence<I...>, std::type_identity<T>...) {
    return std::tuple{keep_axis<T, Shape, O::keeps, typename F0::kept>(results[I], where)...};
  }(std::make_index_sequence<n>{}, std::type_identity<element_t<X>>{},
         std::type_identity<element_t<More>>{}...);
}

} // namespace imbrex
