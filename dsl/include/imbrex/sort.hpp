#pragma once

#include <imbrex/create.hpp>
#include <imbrex/shape.hpp>

/// Order and choice along an axis (the last by default). The order is total: -0 < +0, NaN comes
/// last in either direction.
namespace imbrex {

/// Which way an order goes.
enum class sorted { ascending, descending };

namespace detail {

/// Instantiated where it is called, as it is `auto`, so that the caller's line is named.
template <class K>
constexpr auto check_key() {
  static_assert(element<element_t<K>> && !narrow_element<element_t<K>>,
                "imbrex: what is sorted by are bools, integers or floats of 16 bits and more; cast "
                "f8, f4 and e8m0 tiles first");
}

template <int Axis, class Shape, class... T>
std::array<value, sizeof...(T)> record_sort(const std::array<value, sizeof...(T)> &xs, sorted how,
                                            location where) {
  const std::array<type, sizeof...(T)> types{type_of<T, Shape>...};
  std::array<value, sizeof...(T)> results;
  record_many("sort", xs, types,
              {{"axis", Axis}, {"descending", how == sorted::descending ? 1 : 0}}, where,
              results.data());
  return results;
}

/// 0, 1, 2, … along an axis of a shape.
template <class Shape, int Axis>
value record_indices(location where) {
  constexpr auto along = [](int i) { return i == Axis ? Shape::extents[i] : 1; };
  using Line = shape_t<Shape::extents[Axis]>;
  using Flat = shape_by<Shape::rank, along>;
  value v = record("arange", {}, type_of<i32, Line>, {}, where);
  if constexpr (!std::same_as<Line, Flat>)
    v = record("reshape", {v}, type_of<i32, Flat>, {}, where);
  if constexpr (!std::same_as<Flat, Shape>) v = record_broadcast(v, type_of<i32, Shape>, where);
  return v;
}

} // namespace detail

IMBREX_DETAIL_NUMBER_IN_BRACKETS(sort, "sort<axis>(x)")
IMBREX_DETAIL_NUMBER_IN_BRACKETS(argsort, "argsort<axis>(x)")
IMBREX_DETAIL_ALWAYS_IN_BRACKETS(topk, "topk<count, axis>(x)")
IMBREX_DETAIL_ALWAYS_IN_BRACKETS(histogram, "histogram<bins>(x)")
IMBREX_DETAIL_ALWAYS_IN_BRACKETS(gather, "gather<axis>(x, indices)")

/// The elements along an axis in order; the same shape and element type.
template <int Axis = -1, operand X>
auto sort(const X &x, sorted how = sorted::ascending,
          detail::location where = detail::location::current()) {
  using namespace detail;
  check_key<X>();
  using T = element_t<X>;
  using Shape = shape_of<X>;
  return tile_t<T, Shape>(
      record_sort<checked_axis<X, Axis>(), Shape, T>({record_value(x, where)}, how, where)[0]);
}

/// The keys sorted and the values moved with them, stable: `auto [k, v] = sort_by_key(keys,
/// values);`
template <int Axis = -1, operand K, operand V>
auto sort_by_key(const K &keys, const V &values, sorted how = sorted::ascending,
                 detail::location where = detail::location::current()) {
  using namespace detail;
  check_key<K>();
  using Shape = shape_of<K>;
  static_assert(std::same_as<Shape, shape_of<V>>, "imbrex: keys and values have one shape");
  const std::array<value, 2> operands{record_value(keys, where), record_value(values, where)};
  const auto results =
      record_sort<checked_axis<K, Axis>(), Shape, element_t<K>, element_t<V>>(operands, how, where);
  return std::tuple{tile_t<element_t<K>, Shape>(results[0]),
                    tile_t<element_t<V>, Shape>(results[1])};
}

/// The i32 indices that sort x, the first of equal elements first.
template <int Axis = -1, operand X>
auto argsort(const X &x, sorted how = sorted::ascending,
             detail::location where = detail::location::current()) {
  using namespace detail;
  using Shape = shape_of<X>;
  constexpr int axis = checked_axis<X, Axis>();
  const tile_t<i32, Shape> indices(record_indices<Shape, axis>(where));
  return std::get<1>(sort_by_key<axis>(x, indices, how, where));
}

/// The K largest elements, in descending order, and their i32 indices; with sorted::ascending the K
/// smallest: `auto [values, indices] = topk<8>(x);`
template <int K, int Axis = -1, operand X>
auto topk(const X &x, sorted how = sorted::descending,
          detail::location where = detail::location::current()) {
  using namespace detail;
  using Shape = shape_of<X>;
  constexpr int axis = checked_axis<X, Axis>();
  static_assert(K >= 1 && K <= Shape::extents[axis],
                "imbrex: topk takes 1 to all elements of the axis");
  const tile_t<i32, Shape> indices(record_indices<Shape, axis>(where));
  const auto [values, order] = sort_by_key<axis>(x, indices, how, where);
  return std::tuple{slice<axis, 0, K>(values, where), slice<axis, 0, K>(order, where)};
}

/// How often each of 0 … Bins - 1 occurs in a 1-D tile of integers (where the mask is on), as i32;
/// others are dropped.
template <int Bins, operand X>
tile<i32, Bins> histogram(const X &x, detail::location where = detail::location::current()) {
  using namespace detail;
  static_assert(integer_element<element_t<X>> && shape_of<X>::rank == 1,
                "imbrex: histogram counts the integers of a 1-D tile");
  return tile<i32, Bins>(
      record("histogram", {record_value(x, where)}, type_of<i32, shape_t<Bins>>, {}, where));
}
template <int Bins, operand X, operand M>
tile<i32, Bins> histogram(const X &x, const M &mask,
                          detail::location where = detail::location::current()) {
  using namespace detail;
  static_assert(integer_element<element_t<X>> && shape_of<X>::rank == 1,
                "imbrex: histogram counts the integers of a 1-D tile");
  static_assert(std::same_as<element_t<M>, bool>, "imbrex: a mask is a bool tile");
  const std::array<value, 2> operands{record_value(x, where),
                                      record_as<bool, shape_of<X>>(mask, where)};
  return tile<i32, Bins>(record("histogram", operands, type_of<i32, shape_t<Bins>>, {}, where));
}

/// Along an axis, the elements of x at the indices; 0 where an index is out of range. Other extents
/// of x and of the indices are equal.
template <int Axis, operand X, operand I>
auto gather(const X &x, const I &indices, detail::location where = detail::location::current()) {
  using namespace detail;
  using T = element_t<X>;
  using SX = shape_of<X>;
  using SI = shape_of<I>;
  static constexpr int axis = checked_axis<X, Axis>();
  static_assert(integer_element<element_t<I>>, "imbrex: gather's indices are integers");
  static_assert(equal_beside<SX, SI>(axis),
                "imbrex: gather needs indices of x's rank and extents, but along the axis");
  const std::array<value, 2> operands{record_value(x, where), record_value(indices, where)};
  return tile_t<T, SI>(record("gather", operands, type_of<T, SI>, {{"axis", axis}}, where));
}

} // namespace imbrex
