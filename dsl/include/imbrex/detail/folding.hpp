#pragma once

#include <imbrex/shape.hpp>

/// The shape and the element of what is left when an axis is folded away.
namespace imbrex::detail {

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

} // namespace imbrex::detail
