#pragma once

#include <imbrex/detail/brackets.hpp>

/// Tiles from nothing, and the place of the block in the grid.
namespace imbrex {

/// `value` at every index: `full<f32, 64, 64>(1.5)`; a scalar tile may be the value.
template <element T, int... Extents, operand_or_literal X>
tile<T, Extents...> full(const X &fill, detail::location where = detail::location::current()) {
  using shape = detail::shape_t<Extents...>;
  static_assert(detail::shape_of<X>::rank == 0, "imbrex: full(x) needs a number or a scalar tile");
  detail::check_assignable<T, detail::scalar_shape, X>();
  return tile<T, Extents...>(detail::record_as<T, shape>(fill, where));
}

template <element T, int... Extents>
tile<T, Extents...> zeros(detail::location where = detail::location::current()) {
  return tile<T, Extents...>(
      detail::record_constant(detail::type_of<T, detail::shape_t<Extents...>>, 0, where));
}

namespace detail {

template <class... X>
auto refuse_numbers() {
  static_assert(
      always_false<X...>,
      "imbrex: the extents of a tile are known when C++ compiles, and stand in <>, behind "
      "the element type: zeros<f32, 64, 64>(), full<f32, 64>(x), arange<0, 64>()");
  return scalar<f32>(value());
}

} // namespace detail

template <class T = f32, int... Extents, operand_or_literal... X>
  requires(sizeof...(X) > 0)
auto zeros(const X &...) {
  return detail::refuse_numbers<X...>();
}
template <int First, int... Extents>
auto zeros() {
  return detail::refuse_numbers<std::integral_constant<int, First>>();
}
template <class T = f32, int... Extents, operand_or_literal... X>
  requires(sizeof...(X) > 1)
auto full(const X &...) {
  return detail::refuse_numbers<X...>();
}
template <int First, int... Extents, operand_or_literal X>
auto full(const X &) {
  return detail::refuse_numbers<X>();
}
template <class T = i32, operand_or_literal... X>
  requires(sizeof...(X) > 0)
auto arange(const X &...) {
  return detail::refuse_numbers<X...>();
}
template <int Last>
auto arange() {
  return detail::refuse_numbers<std::integral_constant<int, Last>>();
}

/// First, First + Step, … : N numbers along one axis. `arange<0, 128>()` counts 0 … 127.
template <int First, int Last, int Step = 1, integer_element T = i32>
auto arange(detail::location where = detail::location::current()) {
  static_assert(
      Step != 0 && (Step > 0 ? First < Last : First > Last),
      "imbrex: arange<first, last, step> counts from first towards last and needs at least "
      "one number");
  constexpr int count =
      Step > 0 ? (Last - First + Step - 1) / Step : (First - Last - Step - 1) / -Step;
  static_assert(detail::fits<T>(First) && detail::fits<T>(First + (count - 1) * Step),
                "imbrex: a number of arange does not fit into its element type");
  return tile<T, count>(detail::record("arange", {}, detail::type_of<T, detail::shape_t<count>>,
                                       {{"start", First}, {"step", Step}}, where));
}

namespace detail {

inline scalar<i32> grid_index(const char *op, int axis, location where) {
  if (axis < 0 || axis > 2) raise("GridAxis", where, {std::to_string(axis)});
  return scalar<i32>(record(op, {}, type_of<i32, scalar_shape>, {{"axis", axis}}, where));
}

} // namespace detail

/// This block's index along an axis of the grid: 0, 1 or 2.
inline scalar<i32> program_id(int axis, detail::location where = detail::location::current()) {
  return detail::grid_index("program_id", axis, where);
}
/// The number of blocks along an axis of the grid: 0, 1 or 2.
inline scalar<i32> num_programs(int axis, detail::location where = detail::location::current()) {
  return detail::grid_index("num_programs", axis, where);
}

/// `auto [m, n] = program_id<2>();`
template <int Axes>
auto program_id(detail::location where = detail::location::current()) {
  static_assert(Axes >= 1 && Axes <= 3, "imbrex: a grid has 1 to 3 axes");
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::tuple{program_id(static_cast<int>(I), where)...};
  }(std::make_index_sequence<static_cast<std::size_t>(Axes)>{});
}

} // namespace imbrex
