#include <imbrex/detail/clipped_box.hpp>

namespace imbrex::detail {
namespace {

const type &coordinate_type = type_of<i64, scalar_shape>;

type tile_of_extents(const char *element, list<std::int64_t> extents) {
  type made;
  made.element = element;
  made.rank = static_cast<int>(extents.size());
  for (std::size_t i = 0; i < extents.size(); ++i) made.extents[i] = extents[i];
  return made;
}

/// Records what the elements of a box are along an axis: tiles of the extent that the box has
/// along it, and 1 along the others.
class box_axis {
public:
  box_axis(const memory_box &box, const type &tile, int axis)
      : box_(box), axis_(axis), extent_(tile.extents[static_cast<std::size_t>(axis)]),
        rank_(tile.rank) {}

  /// The indices that the box has along the axis.
  value indices() const {
    value first = record_cast(box_.at[at()], coordinate_type, box_.where);
    if (box_.unit == "tiles") {
      const value extents =
          record_constant(coordinate_type, static_cast<std::uint64_t>(extent_), box_.where);
      first = record("mul", {first, extents}, coordinate_type, {}, box_.where);
    }
    const type flat = tile_of_extents("i64", {&extent_, 1});
    value counted = record("arange", {}, flat, {{"start", 0}, {"step", 1}}, box_.where);
    if (rank_ > 1) counted = record("reshape", {counted}, line("i64"), {}, box_.where);
    return record("add", {along(first), counted}, line("i64"), {}, box_.where);
  }
  /// Which of them are within the view and the box's ends.
  value inside(value index) const {
    value end = ask("view.extent", box_.extents);
    if (box_.ends.size() > 0)
      end = record("min", {end, box_.ends[at()]}, coordinate_type, {}, box_.where);
    const value zero = record_constant(line("i64"), 0, box_.where);
    const value behind = record("ge", {index, zero}, line("bool"), {}, box_.where);
    const value before = record("lt", {index, along(end)}, line("bool"), {}, box_.where);
    return record("and", {behind, before}, line("bool"), {}, box_.where);
  }
  /// Elements of memory from the view's first one.
  value offsets(value index) const {
    const value stride = ask("view.stride", box_.strides);
    return record("mul", {index, along(stride)}, line("i64"), {}, box_.where);
  }
  /// Of the box's shape.
  value widened(value v, const type &tile, const char *element) const {
    type wide = tile;
    wide.element = element;
    return rank_ == 1 ? v : record_broadcast(v, wide, box_.where);
  }

private:
  std::size_t at() const { return static_cast<std::size_t>(axis_); }
  value along(value scalar) const { return record_broadcast(scalar, line("i64"), box_.where); }
  value ask(const char *op, list<value> made) const {
    if (box_.is_made) return made[at()];
    return record(op, {box_.view}, coordinate_type, {{"axis", axis_}}, box_.where);
  }
  type line(const char *element) const {
    type made = tile_of_extents(element, {});
    made.rank = rank_;
    for (int i = 0; i < rank_; ++i)
      made.extents[static_cast<std::size_t>(i)] = i == axis_ ? extent_ : 1;
    return made;
  }

  const memory_box &box_;
  int axis_;
  std::int64_t extent_;
  int rank_;
};

} // namespace

void record_row_major(list<value> extents, value *strides, location where) {
  strides[extents.size() - 1] = record_constant(coordinate_type, 1, where);
  for (std::size_t axis = extents.size() - 1; axis-- > 0;)
    strides[axis] =
        record("mul", {strides[axis + 1], extents[axis + 1]}, coordinate_type, {}, where);
}

clipped_access record_clipped(const memory_box &box, const type &pointers) {
  type integers = pointers, bools = pointers;
  integers.form = bools.form = type_form::tile;
  integers.is_const = bools.is_const = false;
  integers.element = "i64";
  bools.element = "bool";
  value offsets, mask;
  for (int axis = 0; axis < pointers.rank; ++axis) {
    const box_axis one(box, integers, axis);
    const value index = one.indices();
    const value inside = one.inside(index), offset = one.offsets(index);
    const value wide = one.widened(inside, integers, "bool");
    const value far = one.widened(offset, integers, "i64");
    mask = axis == 0 ? wide : record("and", {mask, wide}, bools, {}, box.where);
    offsets = axis == 0 ? far : record("add", {offsets, far}, integers, {}, box.where);
  }
  type scalar = pointers;
  scalar.rank = 0;
  const value first =
      box.is_made ? box.first : record("view.data", {box.view}, scalar, {}, box.where);
  const value base = record_broadcast(first, pointers, box.where);
  return {record("ptr.add", {base, offsets}, pointers, {}, box.where), mask};
}

} // namespace imbrex::detail
