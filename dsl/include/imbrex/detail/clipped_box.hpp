#pragma once

#include <imbrex/memory.hpp>

/// A box of a view that ends where the run says, element by element: pointers, and a mask of those
/// that are within. What moves boxes as a whole knows the view's own extents alone.
namespace imbrex::detail {

struct unclipped {};
/// Indices of the view, one for each axis, from which on an element counts as outside; i64 scalars.
template <int Rank>
struct clipped {
  std::array<value, Rank> ends;
};

struct clipped_access {
  value pointers;
  value mask;
};

/// Records what the elements of a box are along an axis, as tiles of the box's shape.
template <class T, class Box, int Axis>
struct clipped_axis {
  using shape = typename Box::shape;
  static constexpr auto extent = [](int i) { return i == Axis ? shape::extents[i] : 1; };
  using line = shape_by<shape::rank, extent>;
  using flat = shape_t<shape::extents[Axis]>;
  static constexpr const type &number = type_of<i64, scalar_shape>;

  value view;
  const Box &box;

  location where() const { return box.where; }
  value ask(const char *op) const { return record(op, {view}, number, {{"axis", Axis}}, where()); }
  value along(value scalar) const { return record_broadcast(scalar, type_of<i64, line>, where()); }

  /// The indices that the box has along the axis.
  value indices() const {
    const auto at = static_cast<std::size_t>(Axis);
    value first = record_cast(box.at[at], number, where());
    if (box.unit == "tiles") {
      const value extents =
          record_constant(number, static_cast<std::uint64_t>(shape::extents[at]), where());
      first = record("mul", {first, extents}, number, {}, where());
    }
    value counted = record("arange", {}, type_of<i64, flat>, {{"start", 0}, {"step", 1}}, where());
    if constexpr (!std::same_as<flat, line>)
      counted = record("reshape", {counted}, type_of<i64, line>, {}, where());
    return record("add", {along(first), counted}, type_of<i64, line>, {}, where());
  }
  /// Which of them are within the view and the box's ends.
  value inside(value index) const {
    const type &truth = type_of<bool, line>;
    const value end = record("min", {ask("view.extent"), box.clip.ends[Axis]}, number, {}, where());
    const value zero = record_constant(type_of<i64, line>, 0, where());
    const value behind = record("ge", {index, zero}, truth, {}, where());
    const value before = record("lt", {index, along(end)}, truth, {}, where());
    return record("and", {behind, before}, truth, {}, where());
  }
  /// Elements of memory from the view's first one.
  value offsets(value index) const {
    return record("mul", {index, along(ask("view.stride"))}, type_of<i64, line>, {}, where());
  }
};

template <class T, class Box, int Axis>
void add_axis(value view, const Box &box, value &offsets, value &mask) {
  using shape = typename Box::shape;
  using axis = clipped_axis<T, Box, Axis>;
  const axis one{view, box};
  const value index = one.indices();
  const auto widened = [&]<class E>(std::type_identity<E>, value v) {
    if constexpr (std::same_as<typename axis::line, shape>)
      return v;
    else
      return record_broadcast(v, type_of<E, shape>, box.where);
  };
  const value inside = widened(std::type_identity<bool>(), one.inside(index));
  const value offset = widened(std::type_identity<i64>(), one.offsets(index));
  if constexpr (Axis == 0) {
    mask = inside;
    offsets = offset;
  } else {
    mask = record("and", {mask, inside}, type_of<bool, shape>, {}, box.where);
    offsets = record("add", {offsets, offset}, type_of<i64, shape>, {}, box.where);
  }
}

template <class T, class Box>
clipped_access record_clipped(value view, const Box &box) {
  using shape = typename Box::shape;
  value offsets, mask;
  [&]<int... Axis>(std::integer_sequence<int, Axis...>) {
    (add_axis<T, Box, Axis>(view, box, offsets, mask), ...);
  }(std::make_integer_sequence<int, shape::rank>());
  const value first = record("view.data", {view}, type_of<pointer<T>, scalar_shape>, {}, box.where);
  const value base = record_broadcast(first, type_of<pointer<T>, shape>, box.where);
  return {record("ptr.add", {base, offsets}, type_of<pointer<T>, shape>, {}, box.where), mask};
}

} // namespace imbrex::detail
