#pragma once

#include <imbrex/detail/operand.hpp>

#include <boost/hana/tuple.hpp>
#include <boost/hana/unpack.hpp>

#include <tuple>

/// Expression templates: elementwise arithmetic builds a tree that holds its operands by value and
/// is recorded, left operand first, when it is used as a value.
namespace imbrex {

namespace detail {

/// A row per operator: the op's name in the IR, and the element its operands meet in and its result
/// has, given the element that the operands meet in.
template <class Meet>
using itself = Meet;
template <class>
using truth = bool;
/// f16 and bf16 quotients and remainders are f32 (docs/language.md, promotion).
template <class T>
using at_least_f32 = std::conditional_t<float_element<T> && (element_info<T>.bits < 32), f32, T>;

// clang-format off
struct add_op   { static constexpr const char *name = "add";  template <class T> using works_on = number_of<T>; template <class T> using gives = number_of<T>; };
struct sub_op   { static constexpr const char *name = "sub";  template <class T> using works_on = number_of<T>; template <class T> using gives = number_of<T>; };
struct mul_op   { static constexpr const char *name = "mul";  template <class T> using works_on = number_of<T>; template <class T> using gives = number_of<T>; };
struct div_op   { static constexpr const char *name = "div";  template <class T> using works_on = at_least_f32<number_of<T>>; template <class T> using gives = at_least_f32<number_of<T>>; };
struct rem_op   { static constexpr const char *name = "rem";  template <class T> using works_on = at_least_f32<number_of<T>>; template <class T> using gives = at_least_f32<number_of<T>>; };
struct and_op   { static constexpr const char *name = "and";  template <class T> using works_on = T; template <class T> using gives = T; };
struct or_op    { static constexpr const char *name = "or";   template <class T> using works_on = T; template <class T> using gives = T; };
struct xor_op   { static constexpr const char *name = "xor";  template <class T> using works_on = T; template <class T> using gives = T; };
struct eq_op    { static constexpr const char *name = "eq";   template <class T> using works_on = T; template <class T> using gives = bool; };
struct ne_op    { static constexpr const char *name = "ne";   template <class T> using works_on = T; template <class T> using gives = bool; };
struct lt_op    { static constexpr const char *name = "lt";   template <class T> using works_on = number_of<T>; template <class T> using gives = bool; };
struct le_op    { static constexpr const char *name = "le";   template <class T> using works_on = number_of<T>; template <class T> using gives = bool; };
struct gt_op    { static constexpr const char *name = "gt";   template <class T> using works_on = number_of<T>; template <class T> using gives = bool; };
struct ge_op    { static constexpr const char *name = "ge";   template <class T> using works_on = number_of<T>; template <class T> using gives = bool; };
struct neg_op   { static constexpr const char *name = "neg";  template <class T> using works_on = number_of<T>; template <class T> using gives = number_of<T>; };
struct not_op   { static constexpr const char *name = "not";  template <class T> using works_on = T; template <class T> using gives = T; };
// clang-format on

/// A host number among the operands of an expression.
template <class S>
struct literal : traced {
  using element = own_element_t<S>;
  using shape = scalar_shape;
  S number;
  explicit constexpr literal(S n) : number(n) {}
  value record(location where) const { return record_literal<element, shape>(number, where); }
};

/// An expression that has a name: its product is a value of its own and is rounded, so that
/// contraction never reaches from one statement into another.
template <class E>
struct settled : traced {
  using element = typename E::element;
  using shape = typename E::shape;
  E inner;
  explicit constexpr settled(const E &e) : inner(e) {}
  value record(location where) const { return inner.record(where); }
};

/// The elements of expressions and literals meet; a literal follows the others.
template <class E>
struct decides {
  template <class T>
  using with = meet<T, typename E::element>;
};
template <class S>
struct decides<literal<S>> {
  template <class T>
  using with = literal_element<S, T>;
};
template <class A, class B>
struct expression_meet {
  using type = typename decides<B>::template with<typename A::element>;
};
template <class S, class B>
struct expression_meet<literal<S>, B> {
  using type = literal_element<S, typename B::element>;
};

template <class T, class Shape, class E>
value record_operand(const E &e, location where) {
  return record_as<T, Shape>(e, where);
}
template <class T, class Shape, class S>
value record_operand(const literal<S> &e, location where) {
  return record_literal<T, Shape>(e.number, where);
}

} // namespace detail

/// One elementwise operation on one or two operands, not recorded yet. A value: copies are cheap
/// and hold all they need, so that `auto` is safe.
template <class Op, class Meet, class... Operands>
class expression : public detail::traced {
public:
  using op = Op;
  using works_on = typename Op::template works_on<Meet>;
  using element = typename Op::template gives<Meet>;
  using shape = detail::broadcast_t<typename Operands::shape...>;

  explicit constexpr expression(const Operands &...operands) : operands_(operands...) {}

  /// Record the operands from left to right, then the operation.
  detail::value record(detail::location where) const;

  const detail::hana::tuple<Operands...> &operands() const { return operands_; }

private:
  detail::hana::tuple<Operands...> operands_;
};

namespace detail {

/// A product that may become part of a fused multiply-add whose element is T: it must have been
/// rounded to T itself, else fusing would leave out a rounding that is meant.
template <class E, class T>
inline constexpr bool is_product = false;
template <class Meet, class A, class B, class T>
inline constexpr bool is_product<expression<mul_op, Meet, A, B>, T> =
    float_element<T> && std::same_as<typename expression<mul_op, Meet, A, B>::element, T>;

template <class T, class Shape>
value record_negated(value v, location where) {
  return record("neg", {v}, type_of<T, Shape>, {}, where);
}

enum class fused { product_plus, product_minus, plus_product, minus_product };

/// The four forms of one fma. Operands are recorded in the order in which they are written.
template <fused Form, class T, class Shape, class Product, class Other>
value record_fma(const Product &product, const Other &other, location where) {
  constexpr bool product_first = Form == fused::product_plus || Form == fused::product_minus;
  value c, a, b;
  if constexpr (!product_first) c = record_operand<T, Shape>(other, where);
  hana::unpack(product.operands(), [&](const auto &x, const auto &y) {
    a = record_operand<T, Shape>(x, where);
    b = record_operand<T, Shape>(y, where);
  });
  if constexpr (product_first) c = record_operand<T, Shape>(other, where);
  if constexpr (Form == fused::product_minus) c = record_negated<T, Shape>(c, where);
  if constexpr (Form == fused::minus_product) a = record_negated<T, Shape>(a, where);
  return record("fma", {a, b, c}, type_of<T, Shape>, {}, where);
}

template <class Op, class T, class Shape, class A, class B>
constexpr bool contracts_left =
    (std::same_as<Op, add_op> || std::same_as<Op, sub_op>) && is_product<A, T>;
template <class Op, class T, class Shape, class A, class B>
constexpr bool contracts_right =
    (std::same_as<Op, add_op> || std::same_as<Op, sub_op>) && is_product<B, T>;

} // namespace detail

template <class Op, class Meet, class... Operands>
detail::value expression<Op, Meet, Operands...>::record(detail::location where) const {
  using namespace detail;
  return hana::unpack(operands_, [&](const auto &...operand) {
    if constexpr (sizeof...(Operands) == 2) {
      const auto &[a, b] = std::tie(operand...);
      using A = std::remove_cvref_t<decltype(a)>;
      using B = std::remove_cvref_t<decltype(b)>;
      constexpr bool subtracts = std::same_as<Op, sub_op>;
      if constexpr (contracts_left<Op, element, shape, A, B>) {
        constexpr auto form = subtracts ? fused::product_minus : fused::product_plus;
        if (contracts()) return record_fma<form, element, shape>(a, b, where);
      } else if constexpr (contracts_right<Op, element, shape, A, B>) {
        constexpr auto form = subtracts ? fused::minus_product : fused::plus_product;
        if (contracts()) return record_fma<form, element, shape>(b, a, where);
      }
    }
    // A braced list is evaluated from left to right, by every compiler.
    return detail::record(Op::name, {record_operand<works_on, shape>(operand, where)...},
                          type_of<element, shape>, {}, where);
  });
}

} // namespace imbrex
