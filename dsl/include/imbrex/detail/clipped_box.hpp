#pragma once

#include <imbrex/memory.hpp>

/// A box of a view that ends where the run says, or of memory that no parameter is a view of,
/// element by element: pointers, and a mask of those that are within. What moves boxes as a whole
/// knows parameters and their own extents alone.
namespace imbrex::detail {

struct unclipped {
  static constexpr std::array<value, 0> ends{};
};
/// Indices of the view, one for each axis, from which on an element counts as outside; i64 scalars.
template <int Rank>
struct clipped {
  std::array<value, static_cast<std::size_t>(Rank)> ends;
};

/// The memory of a view: a parameter's, or behind a pointer, with as much room along each axis as
/// the run says; i64 scalars.
template <int Rank>
struct view_memory {
  value view = {};
  bool is_made = false; ///< Of a pointer.
  bool is_const = false;
  value first = {}; ///< The pointer.
  std::array<value, static_cast<std::size_t>(Rank)> extents = {}, strides = {};
};

/// An integer of the kernel on its way into an extent or a stride.
struct run_integer {
  template <operand_or_literal I>
  run_integer(const I &i, location where = location::current())
      : number(record_as<i64, scalar_shape>(check<I>(i), where)) {}

  value number;

private:
  template <class I>
  static const I &check(const I &i) {
    static_assert(integer_element<element_t<I>> && shape_of<I>::rank == 0,
                  "imbrex: the extents and strides of a view are integers: scalars, or numbers of "
                  "the host");
    return i;
  }
};

/// The strides of a view whose rows lie one behind the other.
void record_row_major(list<value> extents, value *strides, location where);

struct memory_box {
  bool is_made;
  value view, first;
  list<value> extents, strides; ///< Of what is made.
  list<value> at;               ///< The box's coordinates.
  std::string_view unit;
  list<value> ends; ///< None: those of the view.
  location where;
};
struct clipped_access {
  value pointers;
  value mask;
};
/// The elements of a box, as pointers of this type.
clipped_access record_clipped(const memory_box &box, const type &pointers);

template <class T, int Rank, class Box>
clipped_access record_clipped(const view_memory<Rank> &memory, const Box &box) {
  type pointers = type_of<pointer<T>, typename Box::shape>;
  pointers.is_const = memory.is_made ? memory.is_const : std::is_const_v<T>;
  return record_clipped({.is_made = memory.is_made,
                         .view = memory.view,
                         .first = memory.first,
                         .extents = memory.extents,
                         .strides = memory.strides,
                         .at = box.at,
                         .unit = box.unit,
                         .ends = box.clip.ends,
                         .where = box.where},
                        pointers);
}

} // namespace imbrex::detail
