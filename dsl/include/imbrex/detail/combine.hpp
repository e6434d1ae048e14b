#pragma once

#include <imbrex/convert.hpp>

#include <tuple>

/// Combines of the author's own, for reductions and scans.
namespace imbrex::detail {

/// Tuples of operands and single ones alike.
template <class X>
auto as_tuple(const X &x) {
  if constexpr (literal_number<X>)
    return std::tuple<X>(x);
  else if constexpr (operand<X>)
    return std::tuple<tile_t<element_t<X>, shape_of<X>>>(tile_t<element_t<X>, shape_of<X>>(x));
  else
    return x;
}

template <class T, class X>
value record_combined(const X &x, location where) {
  check_assignable<T, scalar_shape, X>();
  return record_as<T, scalar_shape>(x, where);
}

template <class F, class... X>
concept gives_nothing = std::invocable<F, X...> && std::is_void_v<std::invoke_result_t<F, X...>>;

/// Record the body of a combine: `f(left…, right…)` on scalars, whose results are the next ones.
template <class... T, class F>
void record_combine(const F &f, list<type> results, location where, value *into) {
  constexpr std::size_t n = sizeof...(T);
  const std::array<type, n> scalars{type_of<T, scalar_shape>...};
  std::array<value, 2 * n> arguments;
  for (std::size_t i = 0; i < 2 * n; ++i) arguments[i] = body_argument(scalars[i % n]);
  const auto call = [&]<std::size_t... L, std::size_t... R>(std::index_sequence<L...>,
                                                            std::index_sequence<R...>) {
    return as_tuple(f(scalar<T>(arguments[L])..., scalar<T>(arguments[n + R])...));
  };
  constexpr bool is_callable = std::is_invocable_v<const F &, scalar<T>..., scalar<T>...>;
  static_assert(is_callable, "imbrex: a combine takes two scalars for each tile: f(a, b) for one, "
                             "f(x0, y0, x1, y1) for two");
  constexpr bool is_silent = gives_nothing<const F &, scalar<T>..., scalar<T>...>;
  static_assert(!is_silent, "imbrex: a combine returns what it makes of its operands");
  if constexpr (is_callable && !is_silent) {
    const auto next = call(std::make_index_sequence<n>{}, std::make_index_sequence<n>{});
    static_assert(std::tuple_size_v<std::remove_const_t<decltype(next)>> == n,
                  "imbrex: a combine gives as many values as there are operands");
    const std::array<value, n> yielded = std::apply(
        [&](const auto &...v) { return std::array<value, n>{record_combined<T>(v, where)...}; },
        next);
    end_combine(yielded, results, where, into);
  }
}

/// Recorded values of one shape as a tuple of tiles of the elements T.
template <class Shape, class... T>
auto tuple_of_tiles(const std::array<value, sizeof...(T)> &values) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::tuple<tile_t<T, Shape>...>{tile_t<T, Shape>(values[I])...};
  }(std::index_sequence_for<T...>{});
}

} // namespace imbrex::detail
