#pragma once

#include <imbrex/convert.hpp>

/// Elementwise functions. Operands broadcast and meet as under operators; each call is recorded
/// where it stands and gives a tile.
namespace imbrex {

namespace detail {

template <class... Xs>
struct meet_held;
template <class A>
struct meet_held<A> {
  using type = typename A::element;
};
template <class A, class B, class... Rest>
struct meet_held<A, B, Rest...> {
  struct both {
    using element = typename expression_meet<A, B>::type;
  };
  using type = typename meet_held<both, Rest...>::type;
};
template <class X>
using held_t = decltype(hold(std::declval<const X &>()));
/// The element in which operands and literals meet.
template <class... Xs>
using common_t = typename meet_held<held_t<Xs>...>::type;

/// Record an op whose operands and result have one element type and one shape.
template <class T, class... Xs>
auto same_type_op(const char *op, list<attribute> attributes, location where, const Xs &...xs) {
  using Shape = broadcast_t<shape_of<Xs>...>;
  return tile_t<T, Shape>(
      record(op, {record_as<T, Shape>(xs, where)...}, type_of<T, Shape>, attributes, where));
}

template <class... Xs>
concept some_operands =
    (operand_or_literal<Xs> && ...) && (operand<Xs> || ...) && (!is_pointer<element_t<Xs>> && ...);

template <class X>
auto float_op(const char *op, list<attribute> attributes, const X &x, location where) {
  static_assert(float_element<element_t<X>>,
                "imbrex: this function works on f16, bf16, f32 and f64; cast integers first");
  return same_type_op<element_t<X>>(op, attributes, where, x);
}

} // namespace detail

#define IMBREX_DETAIL_FLOAT(name)                                                                  \
  template <operand X>                                                                             \
  auto name(const X &x, detail::location where = detail::location::current()) {                    \
    return detail::float_op(#name, {}, x, where);                                                  \
  }
/// To an integer, as a float: down, up, nearest (ties away from zero), nearest (ties to even), cut.
IMBREX_DETAIL_FLOAT(floor)
IMBREX_DETAIL_FLOAT(ceil)
IMBREX_DETAIL_FLOAT(round)
IMBREX_DETAIL_FLOAT(rint)
IMBREX_DETAIL_FLOAT(trunc)
/// Correctly rounded.
IMBREX_DETAIL_FLOAT(sqrt)
/// The same bits on every device, with the error in docs/semantics.md.
IMBREX_DETAIL_FLOAT(rsqrt)
IMBREX_DETAIL_FLOAT(exp)
IMBREX_DETAIL_FLOAT(exp2)
IMBREX_DETAIL_FLOAT(expm1)
IMBREX_DETAIL_FLOAT(log)
IMBREX_DETAIL_FLOAT(log2)
IMBREX_DETAIL_FLOAT(log1p)
IMBREX_DETAIL_FLOAT(sin)
IMBREX_DETAIL_FLOAT(cos)
IMBREX_DETAIL_FLOAT(tan)
IMBREX_DETAIL_FLOAT(tanh)
IMBREX_DETAIL_FLOAT(erf)
#undef IMBREX_DETAIL_FLOAT

/// Magnitude; the lowest signed integer stays itself.
template <operand X>
  requires detail::some_operands<X>
auto abs(const X &x, detail::location where = detail::location::current()) {
  return detail::same_type_op<detail::number_of<detail::element_t<X>>>("abs", {}, where, x);
}

/// Both NaN flavours: min and max prefer a number to a NaN, min_nan and max_nan give NaN if either
/// operand is. -0 < +0 in all.
template <class A, class B>
  requires detail::some_operands<A, B>
auto min(const A &a, const B &b, detail::location where = detail::location::current()) {
  detail::check_signs<A, B>();
  return detail::same_type_op<detail::number_of<detail::common_t<A, B>>>("min", {}, where, a, b);
}
template <class A, class B>
  requires detail::some_operands<A, B>
auto max(const A &a, const B &b, detail::location where = detail::location::current()) {
  detail::check_signs<A, B>();
  return detail::same_type_op<detail::number_of<detail::common_t<A, B>>>("max", {}, where, a, b);
}
template <class A, class B>
  requires detail::some_operands<A, B>
auto min_nan(const A &a, const B &b, detail::location where = detail::location::current()) {
  static_assert(float_element<detail::common_t<A, B>>, "imbrex: min_nan works on floats; use min");
  return detail::same_type_op<detail::common_t<A, B>>("min.nan", {}, where, a, b);
}
template <class A, class B>
  requires detail::some_operands<A, B>
auto max_nan(const A &a, const B &b, detail::location where = detail::location::current()) {
  static_assert(float_element<detail::common_t<A, B>>, "imbrex: max_nan works on floats; use max");
  return detail::same_type_op<detail::common_t<A, B>>("max.nan", {}, where, a, b);
}

#define IMBREX_DETAIL_TAKES_TWO(name)                                                              \
  template <class A, class B, class C>                                                             \
    requires detail::some_operands<A, B, C>                                                        \
  detail::refused name(const A &, const B &, const C &) {                                          \
    static_assert(detail::always_false<A>,                                                         \
                  "imbrex: " #name " takes two operands: " #name "(a, " #name "(b, c)); between "  \
                  "two bounds lies clamp(x, low, high), along an axis goes " #name "<axis>(x)");   \
    return {};                                                                                     \
  }
IMBREX_DETAIL_TAKES_TWO(min)
IMBREX_DETAIL_TAKES_TWO(max)
#undef IMBREX_DETAIL_TAKES_TWO

/// min(max(x, low), high): where low > high, high.
template <class X, class Low, class High>
  requires detail::some_operands<X, Low, High>
auto clamp(const X &x, const Low &low, const High &high,
           detail::location where = detail::location::current()) {
  using T = detail::number_of<detail::common_t<X, Low, High>>;
  return detail::same_type_op<T>("min", {}, where,
                                 detail::same_type_op<T>("max", {}, where, x, low), high);
}

template <class X, class Y>
  requires detail::some_operands<X, Y>
auto pow(const X &, const Y &) {
  static_assert(detail::always_false<X>,
                "imbrex: there is no pow: write x * x or sqrt(x), and for other powers of positive "
                "numbers exp2(y * log2(x)), which rounds three times");
  return scalar<f32>(detail::value());
}

/// x · y + z, rounded once.
template <class X, class Y, class Z>
  requires detail::some_operands<X, Y, Z>
auto fma(const X &x, const Y &y, const Z &z, detail::location where = detail::location::current()) {
  using T = detail::common_t<X, Y, Z>;
  static_assert(float_element<T>, "imbrex: fma works on f16, bf16, f32 and f64");
  return detail::same_type_op<T>("fma", {}, where, x, y, z);
}

/// The high half of the product of two integers, taken as unsigned.
template <class A, class B>
  requires detail::some_operands<A, B>
auto umulhi(const A &a, const B &b, detail::location where = detail::location::current()) {
  using T = detail::common_t<A, B>;
  static_assert(integer_element<T>, "imbrex: umulhi works on integers");
  return detail::same_type_op<T>("umulhi", {}, where, a, b);
}

/// `yes` where the condition holds, else `no`. Both are computed: for control flow there is
/// IMBREX_IF.
template <operand C, operand_or_literal A, operand_or_literal B>
auto where(const C &condition, const A &yes, const B &no,
           detail::location line = detail::location::current()) {
  using namespace detail;
  static_assert(std::same_as<element_t<C>, bool>, "imbrex: the condition of where is a bool tile");
  using T = common_t<A, B>;
  using Shape = broadcast_t<shape_of<C>, shape_of<A>, shape_of<B>>;
  const std::array<value, 3> operands{record_as<bool, Shape>(condition, line),
                                      record_as<T, Shape>(yes, line),
                                      record_as<T, Shape>(no, line)};
  return tile_t<T, Shape>(record("select", operands, type_of<T, Shape>, {}, line));
}
template <operand C, operand_or_literal A>
detail::refused where(const C &, const A &) {
  static_assert(detail::always_false<C>,
                "imbrex: where takes three operands: where(condition, yes, no)");
  return {};
}
/// The same as where.
template <operand C, operand_or_literal A, operand_or_literal B>
auto select(const C &condition, const A &yes, const B &no,
            detail::location line = detail::location::current()) {
  return where(condition, yes, no, line);
}

} // namespace imbrex
