#pragma once

#include <imbrex/reduce.hpp>

/// Running combinations along an axis: element i of the result combines elements 0 … i.
namespace imbrex {

struct scan_options {
  bool is_reverse = false;
  bool is_exclusive = false;
};
/// From the last index to the first: `cumsum<0>(x, reverse)`.
inline constexpr scan_options reverse{true, false};
/// Without element i itself: the first is the combine's identity. `cumsum<0>(x, exclusive)`,
/// `cumsum<0>(x, reverse | exclusive)`.
inline constexpr scan_options exclusive{false, true};
constexpr scan_options operator|(scan_options a, scan_options b) {
  return {a.is_reverse || b.is_reverse, a.is_exclusive || b.is_exclusive};
}

namespace detail {

template <class T, int Axis, class X>
auto scan_by(std::string_view combine, const X &x, scan_options options, location where) {
  using Shape = shape_of<X>;
  constexpr int axis = checked_axis<X, Axis>();
  value v = record_value(x, where);
  if constexpr (!std::same_as<element_t<X>, T>) v = record_cast(v, type_of<T, Shape>, where);
  return tile_t<T, Shape>(record("scan", {v}, type_of<T, Shape>,
                                 {{"combine", combine},
                                  {"axis", axis},
                                  {"reverse", options.is_reverse ? 1 : 0},
                                  {"exclusive", options.is_exclusive ? 1 : 0}},
                                 where));
}

} // namespace detail

/// Types as in sum and prod, min and max.
template <int Axis, operand X>
auto cumsum(const X &x, scan_options options = {},
            detail::location where = detail::location::current()) {
  return detail::scan_by<detail::accumulated_t<detail::element_t<X>>, Axis>("sum", x, options,
                                                                            where);
}
template <int Axis, operand X>
auto cumprod(const X &x, scan_options options = {},
             detail::location where = detail::location::current()) {
  return detail::scan_by<detail::accumulated_t<detail::element_t<X>>, Axis>("prod", x, options,
                                                                            where);
}
template <int Axis, operand X>
auto cummin(const X &x, scan_options options = {},
            detail::location where = detail::location::current()) {
  return detail::scan_by<detail::extreme_t<detail::element_t<X>>, Axis>("min", x, options, where);
}
template <int Axis, operand X>
auto cummax(const X &x, scan_options options = {},
            detail::location where = detail::location::current()) {
  return detail::scan_by<detail::extreme_t<detail::element_t<X>>, Axis>("max", x, options, where);
}

IMBREX_DETAIL_ALWAYS_IN_BRACKETS(cumsum, "cumsum<axis>(x)")
IMBREX_DETAIL_ALWAYS_IN_BRACKETS(cumprod, "cumprod<axis>(x)")
IMBREX_DETAIL_ALWAYS_IN_BRACKETS(cummin, "cummin<axis>(x)")
IMBREX_DETAIL_ALWAYS_IN_BRACKETS(cummax, "cummax<axis>(x)")
IMBREX_DETAIL_ALWAYS_IN_BRACKETS(scan, "scan<axis>(x, combine)")

namespace detail {

/// Scan tiles with a combine; `initials` are the scalars that an exclusive scan starts from.
template <int Axis, class Shape, class... T, class F>
auto scan_with(const std::array<value, sizeof...(T)> &xs, const value *initials, const F &combine,
               bool reversed, location where) {
  constexpr std::size_t n = sizeof...(T);
  std::array<value, 2 * n> operands;
  for (std::size_t i = 0; i < n; ++i) operands[i] = xs[i];
  for (std::size_t i = 0; initials && i < n; ++i) operands[n + i] = initials[i];
  begin_body("scan", {operands.data(), initials ? 2 * n : n},
             {{"combine", std::string_view("region")},
              {"axis", Axis},
              {"reverse", reversed ? 1 : 0},
              {"exclusive", initials ? 1 : 0}},
             where);
  const std::array<type, n> types{type_of<T, Shape>...};
  std::array<value, n> results;
  record_combine<T...>(combine, types, where, results.data());
  return results;
}

} // namespace detail

/// A combine of your own, which must be associative: `scan<0>(x, [](auto a, auto b) { … })`, where
/// a holds the earlier elements.
template <int Axis, operand X, class F>
  requires(!operand_or_literal<F>)
auto scan(const X &x, const F &combine, scan_options options = {},
          detail::location where = detail::location::current()) {
  using namespace detail;
  using T = element_t<X>;
  using Shape = shape_of<X>;
  if (options.is_exclusive) raise("ExclusiveScan", where);
  const auto results = scan_with<checked_axis<X, Axis>(), Shape, T>(
      {record_value(x, where)}, nullptr, combine, options.is_reverse, where);
  return tile_t<T, Shape>(results[0]);
}
/// Exclusive, from an initial scalar: `scan<0>(x, 1, f)`.
template <int Axis, operand X, operand_or_literal Initial, class F>
auto scan(const X &x, const Initial &initial, const F &combine, scan_options options = {},
          detail::location where = detail::location::current()) {
  using namespace detail;
  using T = element_t<X>;
  using Shape = shape_of<X>;
  static_assert(shape_of<Initial>::rank == 0, "imbrex: a scan starts from a number or a scalar");
  check_assignable<T, scalar_shape, Initial>();
  const value first = record_as<T, scalar_shape>(initial, where);
  const auto results = scan_with<checked_axis<X, Axis>(), Shape, T>(
      {record_value(x, where)}, &first, combine, options.is_reverse, where);
  return tile_t<T, Shape>(results[0]);
}
/// Several tiles at once, as in reduce.
template <int Axis, operand X, operand... More, class F>
auto scan(const std::tuple<X, More...> &xs, const F &combine, scan_options options = {},
          detail::location where = detail::location::current()) {
  using namespace detail;
  using Shape = shape_of<X>;
  static_assert((std::same_as<Shape, shape_of<More>> && ...),
                "imbrex: tiles that are scanned together have one shape");
  if (options.is_exclusive) raise("ExclusiveScan", where);
  constexpr std::size_t n = 1 + sizeof...(More);
  const std::array<value, n> operands = std::apply(
      [&](const auto &...x) { return std::array<value, n>{record_value(x, where)...}; }, xs);
  const auto results = scan_with<checked_axis<X, Axis>(), Shape, element_t<X>, element_t<More>...>(
      operands, nullptr, combine, options.is_reverse, where);
  return tuple_of_tiles<Shape, element_t<X>, element_t<More>...>(results);
}

} // namespace imbrex
