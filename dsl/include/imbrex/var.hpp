#pragma once

#include <imbrex/detail/located.hpp>

namespace imbrex {

/// Of no tile: how a variable is declared.
template <class X>
class var {
  static_assert(std::is_void_v<X> || detail::always_false<X>,
                "imbrex: a `var` holds a tile or a scalar: var v = scalar<f32>(0), "
                "var<scalar<f32>> v = 0, var<tile<f32, 64>> v = 0");
  static_assert(!std::is_void_v<X>, "imbrex: a `var` has a value from the start: "
                                    "var v = zeros<f32, 64>(), var v = scalar<i32>(0)");

public:
  template <class... Given>
  var(const Given &...) {}
};
var() -> var<void>;

/// The only state of a kernel: a tile that can be given other values, also in the body of a loop or
/// an if. `var acc = zeros<f32, 64, 64>();` `acc += x;`. A scalar given to it fills the shape.
template <class T, int... Extents>
class var<tile<T, Extents...>> : public detail::traced {
  using shape = detail::shape_t<Extents...>;
  using given = const detail::located<tile<T, Extents...>> &;
  static constexpr const detail::type &held = detail::type_of<T, shape>;

public:
  using tile_type = tile<T, Extents...>;

  template <operand_or_literal X>
    requires(!std::same_as<X, var>)
  var(const X &first, detail::location where = detail::location::current())
      : id_(detail::variable_new(tile_type(first, where).id(), held, where)) {}

  template <class X = T>
  var() {
    static_assert(detail::always_false<X>, "imbrex: a `var` has a value from the start: "
                                           "var<tile<f32, 64>> v = 0");
  }

  // A copy would be a second name for the same state. The real one is never there, so that a copy
  // meets the message below.
  var(const var &)
    requires(sizeof...(Extents) > 1000)
  = default;
  template <std::same_as<var> V>
  var(const V &other) : id_(other.id_) {
    static_assert(
        detail::always_false<V>,
        "imbrex: a `var` is not copied, neither into another one nor into a std::tuple or "
        "a lambda; v.get() is its value");
  }
  // `a = b` goes the way of every other value, which knows the line.
  var &operator=(const var &)
    requires(sizeof...(Extents) > 1000)
  = default;

  var &operator=(given next) { return write(next.get(), next.where); }
  var &operator+=(given x) { return write(x.added_to(read(), false), x.where); }
  var &operator-=(given x) { return write(x.added_to(read(), true), x.where); }
  var &operator*=(given x) { return combine<detail::mul_op>(x); }
  var &operator/=(given x) { return combine<detail::div_op>(x); }
  var &operator%=(given x) { return combine<detail::rem_op>(x); }
  var &operator&=(given x) { return combine<detail::and_op>(x); }
  var &operator|=(given x) { return combine<detail::or_op>(x); }
  var &operator^=(given x) { return combine<detail::xor_op>(x); }

#define IMBREX_DETAIL_REFUSED(symbol)                                                              \
  template <class X>                                                                               \
    requires(!operand_or_literal<X>)                                                               \
  var &operator symbol(const X &) {                                                                \
    detail::refuse_value<X>();                                                                     \
    return *this;                                                                                  \
  }
  IMBREX_DETAIL_REFUSED(=)
  IMBREX_DETAIL_REFUSED(+=)
  IMBREX_DETAIL_REFUSED(-=)
  IMBREX_DETAIL_REFUSED(*=)
  IMBREX_DETAIL_REFUSED(/=)
  IMBREX_DETAIL_REFUSED(%=)
  IMBREX_DETAIL_REFUSED(&=)
  IMBREX_DETAIL_REFUSED(|=)
  IMBREX_DETAIL_REFUSED(^=)
#undef IMBREX_DETAIL_REFUSED
  /// `v = {1, 2}`
  template <class X, std::size_t N>
    requires(N > 1)
  var &operator=(const X (&)[N]) {
    detail::refuse_value<X[N]>();
    return *this;
  }
  template <class X>
  var &operator<<=(const X &) {
    return unshifted<X>();
  }
  template <class X>
  var &operator>>=(const X &) {
    return unshifted<X>();
  }

  // An operator without an operand has no room for its line.
  template <class X = void>
  void operator++() const {
    stepped<X>();
  }
  template <class X = void>
  void operator--() const {
    stepped<X>();
  }
  template <class X = void>
  void operator++(int) const {
    stepped<X>();
  }
  template <class X = void>
  void operator--(int) const {
    stepped<X>();
  }

  /// The value now; `v` in an expression means the same.
  tile_type get() const { return tile_type(read()); }

private:
  template <class X>
  static auto stepped() {
    static_assert(detail::always_false<X>,
                  "imbrex: a `var` has no ++ and no --; write v += 1 and v -= 1");
  }
  template <class X>
  auto &unshifted() {
    static_assert(detail::always_false<X>,
                  "imbrex: a `var` has no <<= and no >>=; write v = v << n and v = v >> n");
    return *this;
  }
  detail::value read() const { return detail::variable_read(id_, held); }
  var &write(detail::value next, detail::location where) {
    detail::variable_write(id_, next, where);
    return *this;
  }
  template <class Op>
  var &combine(given x) {
    const auto e = detail::binary<Op>(tile_type(read()), tile_type(x.get()));
    detail::check_assignable<T, shape, std::remove_const_t<decltype(e)>>();
    return write(e.record(x.where), x.where);
  }

  detail::value id_;
};

template <operand X>
var(const X &, detail::location = {})
    -> var<detail::tile_t<detail::element_t<X>, detail::shape_of<X>>>;
template <detail::literal_number S>
var(S, detail::location = {}) -> var<tile<detail::own_element_t<S>>>;

namespace detail {

/// A variable in an expression stands for its value at that moment.
template <class Tile>
struct as_operand<var<Tile>> {
  static constexpr bool exists = true;
  static Tile of(const var<Tile> &v) { return v.get(); }
};

} // namespace detail
} // namespace imbrex
