#pragma once

#include <imbrex/operators.hpp>

namespace imbrex {

namespace detail {

/// Something of the shape From is given to a tile or variable of the shape To. The compiler says of
/// each pair of types once what is wrong, wherever it is; the elements are named to have more
/// pairs.
template <class From, class To, class FromElement, class ToElement>
constexpr void check_shape() {
  constexpr bool one_rank = From::rank == To::rank || From::rank == 0 || To::rank == 0;
  constexpr bool meets = broadcastable<From, To>() && one_rank;
  constexpr bool is_smaller = [] {
    if constexpr (meets) return std::same_as<broadcast_t<From, To>, To>;
    return false;
  }();
  constexpr bool is_larger = [] {
    if constexpr (meets) return std::same_as<broadcast_t<From, To>, From>;
    return false;
  }();
  constexpr bool same = std::same_as<From, To>;
  static_assert(same || !is_smaller,
                "imbrex: the value has fewer elements than the tile or variable it is given to; "
                "only operators repeat a value: write v = v + x for v += x, or "
                "broadcast<extents...>(x)");
  static_assert(same || !is_larger,
                "imbrex: the value has more elements than the tile or variable it is given to; "
                "declare that in the value's shape, as var v = zeros<T, extents...>(), or reduce "
                "the value, as by sum<axis>(x)");
  static_assert(one_rank,
                "imbrex: the value has another number of axes than the tile or variable it is "
                "given to; expand<axis>(x) adds one, squeeze<axis>(x) takes one away");
  static_assert(same || is_smaller || is_larger || !one_rank,
                "imbrex: the value has another shape than the tile or variable it is given to");
}

/// What is given to a tile, a variable or a box, and is no operand and no number.
template <class X>
constexpr auto refuse_value() {
  static_assert(!is_view<X>, "imbrex: a view is read and written by boxes: "
                             "view[box<extents...>(coordinates...)]");
  static_assert(is_view<X>,
                "imbrex: this is neither a tile, nor an expression of tiles, nor a number; "
                "characters and enumerators must be converted to integers, arrays be loaded");
}

template <class To, class Shape, class X>
constexpr void check_assignable() {
  if constexpr (literal_number<X>) {
    static_assert(!is_pointer<To>, "imbrex: a pointer is not made from a number");
    if constexpr (!is_pointer<To>)
      static_assert(kind_of<own_element_t<X>> <= kind_of<To>,
                    "imbrex: the number's fraction would be lost; write it as an integer or cast");
  } else {
    using From = element_t<X>;
    check_shape<shape_of<X>, Shape, From, To>();
    constexpr bool is_address = is_pointer<From> && !is_pointer<To>;
    static_assert(!is_address, "imbrex: a pointer is no number; load(p) reads what it points to");
    static_assert(is_address || std::same_as<From, To> || widens<From, To>(),
                  "imbrex: the value's element type does not fit into the tile's without loss; "
                  "use cast<...>(...), and let a var that sums up have the element of its sums");
  }
}

} // namespace detail

/// A value of a kernel: elements of type T in a box of static extents, none for a scalar. It cannot
/// be changed; for state there is `var`. A tile lives in the trace of one kernel.
template <class T, int... Extents>
class tile : public detail::traced {
public:
  using element = T;
  using shape = detail::shape_t<Extents...>;
  static constexpr int rank = shape::rank;

  static_assert(imbrex::element<T> || detail::is_pointer<T>,
                "imbrex: not an element type; see the table in docs/language.md");

  /// Record an expression or a literal; it has this shape and this element, or one that widens.
  template <operand_or_literal X>
  tile(const X &x, detail::location where = detail::location::current())
      : tile(detail::record_as<T, shape>((detail::check_assignable<T, shape, X>(), x), where)) {}

  template <class X = T>
  tile() {
    static_assert(detail::always_false<X>,
                  "imbrex: a tile has its value from the start and keeps it: tile<f32, 64> t = "
                  "x + y; for what changes declare a `var`");
  }

  tile(const tile &) = default;
  explicit tile(detail::value id) : id_(id) {}

  template <class I>
  auto operator[](const I &) const { // each type of tile has its message
    return detail::traced::template indexed<tile, I>();
  }

  // Never there: it keeps the implicit one away, so that `a = b` meets the message below.
  tile &operator=(const tile &)
    requires(sizeof...(Extents) > 1000)
  = default;
#define IMBREX_DETAIL_UNCHANGED(symbol)                                                            \
  template <class X>                                                                               \
  const tile &operator symbol(const X &) const {                                                   \
    return unchanged<X>();                                                                         \
  }
  IMBREX_DETAIL_UNCHANGED(=)
  IMBREX_DETAIL_UNCHANGED(+=)
  IMBREX_DETAIL_UNCHANGED(-=)
  IMBREX_DETAIL_UNCHANGED(*=)
  IMBREX_DETAIL_UNCHANGED(/=)
  IMBREX_DETAIL_UNCHANGED(%=)
  IMBREX_DETAIL_UNCHANGED(&=)
  IMBREX_DETAIL_UNCHANGED(|=)
  IMBREX_DETAIL_UNCHANGED(^=)
#undef IMBREX_DETAIL_UNCHANGED
  template <class X = void>
  const tile &operator++() const {
    return unchanged<X>();
  }
  template <class X = void>
  const tile &operator--() const {
    return unchanged<X>();
  }
  template <class X = void>
  const tile &operator++(int) const {
    return unchanged<X>();
  }
  template <class X = void>
  const tile &operator--(int) const {
    return unchanged<X>();
  }

  detail::value record(detail::location) const { return id_; }
  detail::value id() const { return id_; }

private:
  template <class X>
  const auto &unchanged() const {
    static_assert(detail::always_false<X> || detail::is_pointer<T>,
                  "imbrex: a tile cannot be assigned to; declare a `var` for what changes");
    static_assert(detail::always_false<X> || !detail::is_pointer<T>,
                  "imbrex: a pointer cannot be assigned to; keep what is added to it in a `var`");
    return *this;
  }

  detail::value id_;
};

/// A scalar: a tile without axes.
template <element T>
using scalar = tile<T>;
/// A pointer to elements in global memory; `ptr<const T>` cannot be stored through.
template <class T>
using ptr = tile<detail::pointer<T>>;

} // namespace imbrex

/// Asked for by `auto [a, b] = ...`.
template <class T, int... Extents>
struct std::tuple_size<imbrex::tile<T, Extents...>> {
  static_assert(imbrex::detail::always_false<T>,
                "imbrex: a tile is one value, which has no parts to name; program_id<2>(), split, "
                "topk and others give several: auto [m, n] = program_id<2>()");
};
