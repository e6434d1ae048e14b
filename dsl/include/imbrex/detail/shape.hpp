#pragma once

#include <imbrex/detail/compiler.hpp>

#include <boost/hana/bool.hpp>
#include <boost/hana/integral_constant.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace imbrex::detail {

namespace hana = boost::hana;

template <class...>
inline constexpr bool always_false = false;

/// The extents of a tile as a type; none for a scalar.
template <int... Extents>
struct shape_t {
  static constexpr int rank = static_cast<int>(sizeof...(Extents));
  static constexpr std::int64_t elements = (std::int64_t{1} * ... * Extents);
  static constexpr int extents[sizeof...(Extents) + 1] = {Extents..., 0};

  static_assert(rank <= 5, "imbrex: a tile has at most 5 axes");
  static_assert(((Extents > 0) && ...), "imbrex: an extent of a tile is at least 1");
  static_assert(elements <= (std::int64_t{1} << 30), "imbrex: a tile has at most 2^30 elements");
};
using scalar_shape = shape_t<>;

/// An axis counted from the front; a negative one counts from the back.
template <class Shape>
constexpr int axis_of(int axis) {
  return axis < 0 ? axis + Shape::rank : axis;
}
template <class Shape, int Axis>
inline constexpr bool has_axis = Axis < Shape::rank && Axis >= -Shape::rank;

template <auto F, class Axes>
struct shape_from;
template <auto F, int... I>
struct shape_from<F, std::integer_sequence<int, I...>> {
  using type = shape_t<F(I)...>;
};
/// The shape with extent F(i) at each i below the rank; F is a lambda.
template <int Rank, auto F>
using shape_by = typename shape_from<F, std::make_integer_sequence<int, Rank>>::type;

/// Whether two shapes have one rank and, along all axes but `axis`, the same extents.
template <class A, class B>
constexpr bool equal_beside(int axis) {
  if (A::rank != B::rank) return false;
  for (int i = 0; i < A::rank; ++i)
    if (i != axis && A::extents[i] != B::extents[i]) return false;
  return true;
}

template <class A, class B>
constexpr bool broadcastable() {
  if constexpr (A::rank == 0 || B::rank == 0) {
    return true;
  } else if constexpr (A::rank != B::rank) {
    return false;
  } else {
    for (int i = 0; i < A::rank; ++i)
      if (A::extents[i] != B::extents[i] && A::extents[i] != 1 && B::extents[i] != 1) return false;
    return true;
  }
}

/// What two shapes become together: a scalar takes the other's, an extent of 1 the other extent.
template <class A, class B>
struct broadcast_two {
  static_assert(A::rank == 0 || B::rank == 0 || A::rank == B::rank,
                "imbrex: tiles of different rank do not combine; add an axis with expand");
  static_assert(A::rank != B::rank || broadcastable<A, B>(),
                "imbrex: the tiles' extents differ along an axis and neither is 1");
  static constexpr auto extent = [](int i) {
    return A::extents[i] == 1 ? B::extents[i] : A::extents[i];
  };
  static constexpr auto shape() {
    if constexpr (A::rank == 0)
      return B{};
    else if constexpr (B::rank == 0 || !broadcastable<A, B>())
      return A{};
    else
      return shape_by<A::rank, extent>{};
  }
  using type = decltype(shape());
};
template <class A>
struct broadcast_two<A, A> {
  using type = A;
};

template <class First, class... Rest>
struct broadcast_all {
  using type = First;
};
template <class A, class B, class... Rest>
struct broadcast_all<A, B, Rest...> : broadcast_all<typename broadcast_two<A, B>::type, Rest...> {};

template <class... Shapes>
using broadcast_t = typename broadcast_all<Shapes...>::type;

} // namespace imbrex::detail
