#pragma once

#include <imbrex/tile.hpp>

namespace imbrex::detail {

/// A value on its way into a box of a view, by itself or combined with what is there, and the line
/// that gives it: an operator has no room for a default argument, but the conversion to its
/// parameter has.
template <class Op, class T, class Shape>
class stored {
public:
  template <operand_or_literal X>
  stored(const X &x, location line = location::current())
      : where(line), given_(&x), record_(&recorded<X>) {}

  /// What the box is to hold, where `read` is what it holds now.
  value over(value read) const { return record_(given_, read, where); }

  const location where;

private:
  template <class X>
  static value recorded(const void *given, value read, location line) {
    const X &x = *static_cast<const X *>(given);
    using held = tile_t<T, Shape>;
    if constexpr (std::same_as<Op, div_op>) check_signs<held, X>();
    if constexpr (std::same_as<Op, void>)
      return fitted(x, line);
    else
      return fitted(binary<Op>(held(read), x), line);
  }
  template <class X>
  static value fitted(const X &x, location line) {
    if constexpr (operand<X>) {
      static_assert(shape_of<X>::rank == 0 || std::same_as<shape_of<X>, Shape>,
                    "imbrex: the stored tile and the box have different shapes; "
                    "broadcast<extents...>(x) repeats a tile, expand<axis>(x) adds an axis");
      static_assert(std::same_as<element_t<X>, T> || widens<element_t<X>, T>(),
                    "imbrex: the stored tile's element type does not fit into the view's without "
                    "loss; use cast<...>(...)");
    }
    check_fraction<T, X>();
    return record_as<T, Shape>(x, line);
  }

  const void *given_;
  value (*record_)(const void *, value, location);
};

} // namespace imbrex::detail
