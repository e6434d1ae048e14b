#pragma once

#include <imbrex/convert.hpp>
#include <imbrex/detail/clipped_box.hpp>
#include <imbrex/hints.hpp>

/// Which part of a view is read or written, and what stands for the elements outside of the view.
namespace imbrex {

namespace detail {

struct pad_zero {};
struct pad_not_a_number {};

} // namespace detail

/// Which box of a view, and how it is read and written. Made by `box` and `box_at`.
template <class Shape, class Pad = detail::pad_zero, class Clip = detail::unclipped>
class view_box {
public:
  using shape = Shape;
  static constexpr int rank = Shape::rank;

  /// Elements outside of the view read as NaN instead of zero.
  auto pad_nan(detail::location line = detail::location::current()) const {
    return padded(detail::pad_not_a_number{}, line);
  }
  /// Elements outside of the view read as this number or scalar tile.
  template <operand_or_literal X>
  auto pad(const X &fill, detail::location line = detail::location::current()) const {
    static_assert(detail::shape_of<X>::rank == 0, "imbrex: a padding is a number or a scalar tile");
    return padded(detail::hold(fill), line);
  }
  view_box hint(cache where_kept, detail::location line = detail::location::current()) const {
    view_box copy = *this;
    copy.hints.cached = where_kept;
    copy.where = line;
    return copy;
  }
  view_box hint(eviction when_dropped, detail::location line = detail::location::current()) const {
    view_box copy = *this;
    copy.hints.evicted = when_dropped;
    copy.where = line;
    return copy;
  }
  view_box hint(memory_hints both, detail::location line = detail::location::current()) const {
    view_box copy = *this;
    copy.hints = both;
    copy.where = line;
    return copy;
  }

  /// Elements from these indices of the view on, one for each axis, count as outside of it, as
  /// those of the next group do at the end of one: `box_at<64, 32>(row, column).within(end, n)`.
  template <operand_or_literal... I>
  auto within(const I &...ends) const {
    static_assert(sizeof...(I) == rank, "imbrex: within(ends...) needs one end for each axis, an "
                                        "index of the view");
    static_assert((integer_element<detail::element_t<I>> && ...),
                  "imbrex: the ends of a box are integers");
    static_assert(((detail::shape_of<I>::rank == 0) && ...),
                  "imbrex: the ends of a box are scalars");
    using clip_type = detail::clipped<rank>;
    return view_box<Shape, Pad, clip_type>{
        at,      unit,  where,
        padding, hints, clip_type{{detail::record_as<i64, detail::scalar_shape>(ends, where)...}}};
  }

  std::array<detail::value, Shape::rank> at;
  std::string_view unit;
  detail::location where;
  Pad padding = {};
  memory_hints hints = {};
  Clip clip = {};

private:
  template <class P>
  view_box<Shape, P, Clip> padded(const P &p, detail::location line) const {
    return {at, unit, line, p, hints, clip};
  }
};

namespace detail {

template <int... Extents, class... I>
auto make_box(std::string_view unit, location where, const I &...at) {
  static_assert(sizeof...(Extents) == sizeof...(I),
                "imbrex: box<extents...>(coordinates...) needs one coordinate per extent");
  static_assert((integer_element<element_t<I>> && ...), "imbrex: a box's coordinates are integers");
  static_assert(((shape_of<I>::rank == 0) && ...), "imbrex: a box's coordinates are scalars");
  return view_box<shape_t<Extents...>>{
      {record_as<element_t<I>, scalar_shape>(at, where)...}, unit, where};
}

/// `box<E...>(i...)`: an object and no function, so that an extent which only the run knows is told
/// of by the compiler in one sentence, and not once for each number of coordinates.
template <bool InElements, int... Extents>
struct box_maker {
  static constexpr std::string_view unit = InElements ? "elements" : "tiles";

  template <operand_or_literal A>
  auto operator()(const A &a, location where = location::current()) const {
    return make_box<Extents...>(unit, where, a);
  }
  template <operand_or_literal A, operand_or_literal B>
  auto operator()(const A &a, const B &b, location where = location::current()) const {
    return make_box<Extents...>(unit, where, a, b);
  }
  template <operand_or_literal A, operand_or_literal B, operand_or_literal C>
  auto operator()(const A &a, const B &b, const C &c, location where = location::current()) const {
    return make_box<Extents...>(unit, where, a, b, c);
  }
  template <operand_or_literal A, operand_or_literal B, operand_or_literal C, operand_or_literal D>
  auto operator()(const A &a, const B &b, const C &c, const D &d,
                  location where = location::current()) const {
    return make_box<Extents...>(unit, where, a, b, c, d);
  }
  template <operand_or_literal A, operand_or_literal B, operand_or_literal C, operand_or_literal D,
            operand_or_literal E>
  auto operator()(const A &a, const B &b, const C &c, const D &d, const E &e,
                  location where = location::current()) const {
    return make_box<Extents...>(unit, where, a, b, c, d, e);
  }
};

} // namespace detail

/// The box with these extents at these coordinates, counted in boxes of these extents.
template <int... Extents> // imbrex: the extents of a box are known when C++ compiles
inline constexpr detail::box_maker<false, Extents...> box{};
/// The box with these extents whose first element is at these coordinates.
template <int... Extents> // imbrex: the extents of a box are known when C++ compiles
inline constexpr detail::box_maker<true, Extents...> box_at{};

} // namespace imbrex
