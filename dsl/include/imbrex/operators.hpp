#pragma once

#include <imbrex/detail/expression.hpp>

#include <tuple>

/// The operators of tiles. Operands broadcast (a scalar to any shape, an extent of 1 to any extent)
/// and meet in one element type; a literal takes the tile's type. All elementwise.
namespace imbrex {

namespace detail {

/// An operand of an operator as it is held in the tree: see `settled` for the named ones.
template <class X>
auto hold(X &&x) {
  using Plain = std::remove_cvref_t<X>;
  if constexpr (literal_number<Plain>) {
    return literal<Plain>(x);
  } else {
    const auto &e = operand_of(x);
    using E = std::remove_cvref_t<decltype(e)>;
    if constexpr (std::is_lvalue_reference_v<X> && is_product<E, typename E::element>)
      return settled<E>(e);
    else
      return E(e);
  }
}

template <class A, class B>
concept operator_pair =
    operand_or_literal<A> && operand_or_literal<B> && (operand<A> || operand<B>) &&
    !is_pointer<element_t<A>> && !is_pointer<element_t<B>>;

template <class Op, class A, class B>
auto binary(A &&a, B &&b) {
  auto left = hold(std::forward<A>(a));
  auto right = hold(std::forward<B>(b));
  using L = decltype(left);
  using R = decltype(right);
  using Meet = typename expression_meet<L, R>::type;
  return expression<Op, Meet, L, R>(left, right);
}

template <class Op, class X>
auto unary(X &&x) {
  auto held = hold(std::forward<X>(x));
  using E = decltype(held);
  return expression<Op, typename E::element, E>(held);
}

template <class A, class B>
constexpr void check_signs() {
  if constexpr (operand<A> && operand<B> && !is_static_literal<std::remove_cvref_t<A>> &&
                !is_static_literal<std::remove_cvref_t<B>>)
    static_assert(
        !mixed_sign<element_t<A>, element_t<B>>,
        "imbrex: a signed and an unsigned tile do not compare or divide; cast one of them");
}

template <class A, class B>
constexpr void check_bits() {
  static_assert(kind_of<element_t<A>> < element_kind::floating &&
                    kind_of<element_t<B>> < element_kind::floating,
                "imbrex: & | ^ ~ work on integers and bools; bitcast a float first");
}

template <class... Xs>
constexpr void check_truths() {
  static_assert((std::same_as<element_t<Xs>, bool> && ...),
                "imbrex: && || ! work on bool tiles; compare first, or use & | ~ on integers");
}

} // namespace detail

#define IMBREX_DETAIL_BINARY(symbol, op, check)                                                    \
  template <class A, class B>                                                                      \
    requires detail::operator_pair<A, B>                                                           \
  auto operator symbol(A &&a, B &&b) {                                                             \
    check;                                                                                         \
    return detail::binary<detail::op>(std::forward<A>(a), std::forward<B>(b));                     \
  }
IMBREX_DETAIL_BINARY(+, add_op, )
IMBREX_DETAIL_BINARY(-, sub_op, )
IMBREX_DETAIL_BINARY(*, mul_op, )
IMBREX_DETAIL_BINARY(/, div_op, (detail::check_signs<A, B>()))
IMBREX_DETAIL_BINARY(%, rem_op, (detail::check_signs<A, B>()))
IMBREX_DETAIL_BINARY(==, eq_op, (detail::check_signs<A, B>()))
IMBREX_DETAIL_BINARY(!=, ne_op, (detail::check_signs<A, B>()))
IMBREX_DETAIL_BINARY(<, lt_op, (detail::check_signs<A, B>()))
IMBREX_DETAIL_BINARY(<=, le_op, (detail::check_signs<A, B>()))
IMBREX_DETAIL_BINARY(>, gt_op, (detail::check_signs<A, B>()))
IMBREX_DETAIL_BINARY(>=, ge_op, (detail::check_signs<A, B>()))
IMBREX_DETAIL_BINARY(&, and_op, (detail::check_bits<A, B>()))
IMBREX_DETAIL_BINARY(|, or_op, (detail::check_bits<A, B>()))
IMBREX_DETAIL_BINARY(^, xor_op, (detail::check_bits<A, B>()))
IMBREX_DETAIL_BINARY(&&, and_op, (detail::check_truths<A, B>()))
IMBREX_DETAIL_BINARY(||, or_op, (detail::check_truths<A, B>()))
#undef IMBREX_DETAIL_BINARY

template <operand X>
  requires(!detail::is_pointer<detail::element_t<X>>)
auto operator-(X &&x) {
  return detail::unary<detail::neg_op>(std::forward<X>(x));
}
template <operand X>
  requires(!detail::is_pointer<detail::element_t<X>>)
auto operator~(X &&x) {
  detail::check_bits<X, X>();
  return detail::unary<detail::not_op>(std::forward<X>(x));
}
template <operand X>
  requires(!detail::is_pointer<detail::element_t<X>>)
auto operator!(X &&x) {
  detail::check_truths<X>();
  return detail::unary<detail::not_op>(std::forward<X>(x));
}

/// Refused: a number of the host would have to know the tile's value while the kernel is traced.
#define IMBREX_DETAIL_CHANGES_NUMBER(symbol)                                                       \
  template <class Number, operand X>                                                               \
    requires std::is_arithmetic_v<Number>                                                          \
  detail::refused operator symbol(Number &, const X &) {                                           \
    static_assert(detail::always_false<X>,                                                         \
                  "imbrex: a number of C++ cannot be changed by a tile, which has no value while " \
                  "the kernel is traced; keep the sum in a var: var s = scalar<f32>(0)");          \
    return {};                                                                                     \
  }
IMBREX_DETAIL_CHANGES_NUMBER(+=)
IMBREX_DETAIL_CHANGES_NUMBER(-=)
IMBREX_DETAIL_CHANGES_NUMBER(*=)
IMBREX_DETAIL_CHANGES_NUMBER(/=)
#undef IMBREX_DETAIL_CHANGES_NUMBER

} // namespace imbrex
