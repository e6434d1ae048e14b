#pragma once

#include <imbrex/detail/brackets.hpp>

/// The elements of a tile under another shape. Axes count from 0, or from the back with -1.
namespace imbrex {

IMBREX_DETAIL_NUMBER_IN_BRACKETS(broadcast, "broadcast<extents...>(x)")
IMBREX_DETAIL_NUMBER_IN_BRACKETS(reshape, "reshape<extents...>(x)")
IMBREX_DETAIL_NUMBER_IN_BRACKETS(permute, "permute<order...>(x)")
IMBREX_DETAIL_ALWAYS_IN_BRACKETS(expand, "expand<axis>(x)")
IMBREX_DETAIL_ALWAYS_IN_BRACKETS(squeeze, "squeeze<axis>(x)")
IMBREX_DETAIL_ALWAYS_IN_BRACKETS(concatenate, "concatenate<axis>(a, b)")
IMBREX_DETAIL_ALWAYS_IN_BRACKETS(slice, "slice<axis, first, extent>(x)")
IMBREX_DETAIL_ALWAYS_IN_BRACKETS(flip, "flip<axis>(x)")

/// Repeated up to a shape: a scalar, or a tile of the same rank with extents of 1.
template <int... Extents, operand X>
auto broadcast(const X &x, detail::location where = detail::location::current()) {
  using From = detail::shape_of<X>;
  using To = detail::shape_t<Extents...>;
  static_assert(
      std::same_as<detail::broadcast_t<From, To>, To>,
      "imbrex: broadcast<extents...>(x) repeats a scalar or extents of 1, and nothing else");
  using T = detail::element_t<X>;
  return tile<T, Extents...>(detail::record_as<T, To>(x, where));
}

namespace detail {

template <class To, class X>
auto record_reshape(const X &x, location where) {
  using T = element_t<X>;
  static_assert(shape_of<X>::elements == To::elements,
                "imbrex: reshape keeps the number of elements");
  const value v = record_value(x, where);
  if constexpr (std::same_as<shape_of<X>, To>)
    return tile_t<T, To>(v);
  else
    return tile_t<T, To>(record("reshape", {v}, type_of<T, To>, {}, where));
}

template <class X, int Axis>
constexpr int checked_axis() {
  static_assert(has_axis<shape_of<X>, Axis>, "imbrex: the tile has no such axis");
  return axis_of<shape_of<X>>(Axis);
}

} // namespace detail

/// The same elements in row-major order under another shape.
template <int... Extents, operand X>
auto reshape(const X &x, detail::location where = detail::location::current()) {
  return detail::record_reshape<detail::shape_t<Extents...>>(x, where);
}

/// Axes reordered: axis i of the result is axis Order[i] of x; -1 is the last.
template <int... Order, operand X>
auto permute(const X &x, detail::location where = detail::location::current()) {
  using namespace detail;
  using From = shape_of<X>;
  constexpr auto axis = [](int given) { return given < 0 ? given + From::rank : given; };
  constexpr bool isComplete = [axis] {
    std::array<int, sizeof...(Order)> times{};
    for (const int one : std::array<int, sizeof...(Order)>{axis(Order)...})
      if (one >= 0 && one < From::rank && one < static_cast<int>(times.size()))
        ++times[static_cast<std::size_t>(one)];
    for (const int count : times)
      if (count != 1) return false;
    return sizeof...(Order) == static_cast<std::size_t>(From::rank);
  }();
  static_assert(isComplete, "imbrex: permute<order...>(x) names every axis of x once");
  using T = element_t<X>;
  using To = shape_t<From::extents[isComplete ? axis(Order) : 0]...>;
  const std::array<std::int64_t, sizeof...(Order)> order{axis(Order)...};
  return tile_t<T, To>(record("permute", {record_value(x, where)}, type_of<T, To>,
                              {{"order", list<std::int64_t>(order)}}, where));
}

/// The last two axes exchanged.
template <operand X>
auto transpose(const X &x, detail::location where = detail::location::current()) {
  constexpr int rank = detail::shape_of<X>::rank;
  static_assert(rank >= 2, "imbrex: transpose needs a tile with at least 2 axes");
  return [&]<int... I>(std::integer_sequence<int, I...>) {
    return permute<(I < rank - 2 ? I : I == rank - 2 ? rank - 1 : rank - 2)...>(x, where);
  }(std::make_integer_sequence<int, rank>{});
}

/// A new axis of extent 1 in front of axis `Axis`; Axis = rank appends it, as does -1.
template <int Axis, operand X>
auto expand(const X &x, detail::location where = detail::location::current()) {
  using From = detail::shape_of<X>;
  static_assert(Axis <= From::rank && Axis >= -From::rank - 1, "imbrex: no place for such an axis");
  static constexpr int at = Axis < 0 ? Axis + From::rank + 1 : Axis;
  static constexpr auto extent = [](int i) {
    return i == at ? 1 : From::extents[i < at ? i : i - 1];
  };
  return detail::record_reshape<detail::shape_by<From::rank + 1, extent>>(x, where);
}

/// Axis `Axis`, which has extent 1, left out.
template <int Axis, operand X>
auto squeeze(const X &x, detail::location where = detail::location::current()) {
  using From = detail::shape_of<X>;
  static constexpr int at = detail::checked_axis<X, Axis>();
  static_assert(From::extents[at] == 1, "imbrex: squeeze leaves out an axis of extent 1");
  static constexpr auto extent = [](int i) { return From::extents[i < at ? i : i + 1]; };
  return detail::record_reshape<detail::shape_by<From::rank - 1, extent>>(x, where);
}

/// a and b as the two slices along a new last axis of extent 2.
template <operand A, operand B>
auto join(const A &a, const B &b, detail::location where = detail::location::current()) {
  using namespace detail;
  using T = element_t<A>;
  using From = shape_of<A>;
  static_assert(std::same_as<T, element_t<B>> && std::same_as<From, shape_of<B>>,
                "imbrex: join(a, b) needs two tiles of one shape and one element type");
  static constexpr auto extent = [](int i) { return i == From::rank ? 2 : From::extents[i]; };
  using To = shape_by<From::rank + 1, extent>;
  const std::array<value, 2> operands{record_value(a, where), record_value(b, where)};
  return tile_t<T, To>(record("join", operands, type_of<T, To>, {}, where));
}

/// The two slices along the last axis, which has extent 2: `auto [a, b] = split(x);`
template <operand X>
auto split(const X &x, detail::location where = detail::location::current()) {
  using namespace detail;
  using T = element_t<X>;
  using From = shape_of<X>;
  static_assert(From::rank > 0 && From::extents[From::rank > 0 ? From::rank - 1 : 0] == 2,
                "imbrex: split(x) needs a last axis of extent 2");
  static constexpr auto extent = [](int i) { return From::extents[i]; };
  using To = shape_by<From::rank - 1, extent>;
  value halves[2];
  const type types[2] = {type_of<T, To>, type_of<T, To>};
  record_many("split", {record_value(x, where)}, {types, 2}, {}, where, halves);
  return std::tuple{tile_t<T, To>(halves[0]), tile_t<T, To>(halves[1])};
}

/// a, then b, along an axis.
template <int Axis, operand A, operand B>
auto concatenate(const A &a, const B &b, detail::location where = detail::location::current()) {
  using namespace detail;
  using T = element_t<A>;
  using SA = shape_of<A>;
  using SB = shape_of<B>;
  static constexpr int at = checked_axis<A, Axis>();
  static_assert(std::same_as<T, element_t<B>>, "imbrex: concatenate needs one element type");
  static_assert(equal_beside<SA, SB>(at),
                "imbrex: concatenate<axis>(a, b) needs equal extents along the other axes");
  static constexpr auto extent = [](int i) {
    return SA::extents[i] + (i == at ? SB::extents[i] : 0);
  };
  using To = shape_by<SA::rank, extent>;
  const std::array<value, 2> operands{record_value(a, where), record_value(b, where)};
  return tile_t<T, To>(record("concat", operands, type_of<T, To>, {{"axis", at}}, where));
}

/// `Extent` elements along an axis from `First` on, every `Stride`-th.
template <int Axis, int First, int Extent, int Stride = 1, operand X>
auto slice(const X &x, detail::location where = detail::location::current()) {
  using namespace detail;
  using T = element_t<X>;
  using From = shape_of<X>;
  static constexpr int at = checked_axis<X, Axis>();
  static_assert(First >= 0 && Extent >= 1 && Stride >= 1 &&
                    First + (Extent - 1) * Stride < From::extents[at],
                "imbrex: slice<axis, first, extent, stride>(x) reaches outside of the tile");
  static constexpr auto extent = [](int i) { return i == at ? Extent : From::extents[i]; };
  using To = shape_by<From::rank, extent>;
  std::array<std::int64_t, From::rank> offsets{}, strides{};
  strides.fill(1);
  offsets[at] = First;
  strides[at] = Stride;
  return tile_t<T, To>(record(
      "slice", {record_value(x, where)}, type_of<T, To>,
      {{"offsets", list<std::int64_t>(offsets)}, {"strides", list<std::int64_t>(strides)}}, where));
}

/// The order along an axis reversed.
template <int Axis, operand X>
auto flip(const X &x, detail::location where = detail::location::current()) {
  using namespace detail;
  using T = element_t<X>;
  using Shape = shape_of<X>;
  constexpr int at = checked_axis<X, Axis>();
  return tile_t<T, Shape>(
      record("flip", {record_value(x, where)}, type_of<T, Shape>, {{"axis", at}}, where));
}

} // namespace imbrex
