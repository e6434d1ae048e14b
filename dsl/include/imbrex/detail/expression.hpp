#pragma once

#include <imbrex/detail/literal.hpp>

#include <boost/hana/tuple.hpp>
#include <boost/hana/unpack.hpp>

#include <tuple>

/// Expression templates: elementwise arithmetic builds a tree that holds its operands by value and
/// is recorded, left operand first, when it is used as a value.
namespace imbrex {

namespace detail {

/// A row per operator: the op's name in the IR, and the element its operands meet in and its result
/// has, given the element that the operands meet in.
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
struct eq_op    { static constexpr const char *name = "eq";   template <class T> using works_on = computed<T>; template <class T> using gives = bool; };
struct ne_op    { static constexpr const char *name = "ne";   template <class T> using works_on = computed<T>; template <class T> using gives = bool; };
struct lt_op    { static constexpr const char *name = "lt";   template <class T> using works_on = number_of<T>; template <class T> using gives = bool; };
struct le_op    { static constexpr const char *name = "le";   template <class T> using works_on = number_of<T>; template <class T> using gives = bool; };
struct gt_op    { static constexpr const char *name = "gt";   template <class T> using works_on = number_of<T>; template <class T> using gives = bool; };
struct ge_op    { static constexpr const char *name = "ge";   template <class T> using works_on = number_of<T>; template <class T> using gives = bool; };
struct neg_op   { static constexpr const char *name = "neg";  template <class T> using works_on = number_of<T>; template <class T> using gives = number_of<T>; };
struct not_op   { static constexpr const char *name = "not";  template <class T> using works_on = T; template <class T> using gives = T; };
// clang-format on

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

template <class Op>
inline constexpr bool is_sum = std::same_as<Op, add_op> || std::same_as<Op, sub_op>;

/// product + other, product - other.
template <class Op, class T, class Shape, class Product, class Other>
value record_fma_left(const Product &product, const Other &other, location where) {
  return hana::unpack(product.operands(), [&](const auto &x, const auto &y) {
    const value a = record_operand<T, Shape>(x, where);
    const value b = record_operand<T, Shape>(y, where);
    value c = record_operand<T, Shape>(other, where);
    if constexpr (std::same_as<Op, sub_op>) c = record("neg", {c}, type_of<T, Shape>, {}, where);
    return record("fma", {a, b, c}, type_of<T, Shape>, {}, where);
  });
}

/// other + product, other - product.
template <class Op, class T, class Shape, class Other, class Product>
value record_fma_right(const Other &other, const Product &product, location where) {
  return hana::unpack(product.operands(), [&](const auto &x, const auto &y) {
    const value c = record_operand<T, Shape>(other, where);
    value a = record_operand<T, Shape>(x, where);
    const value b = record_operand<T, Shape>(y, where);
    if constexpr (std::same_as<Op, sub_op>) a = record("neg", {a}, type_of<T, Shape>, {}, where);
    return record("fma", {a, b, c}, type_of<T, Shape>, {}, where);
  });
}

} // namespace detail

template <class Op, class Meet, class... Operands>
detail::value expression<Op, Meet, Operands...>::record(detail::location where) const {
  using namespace detail;
  // Of two products the left one is fused.
  if constexpr (is_sum<Op> && sizeof...(Operands) == 2) {
    using Left = std::remove_cvref_t<decltype(operands_[hana::size_c<0>])>;
    using Right = std::remove_cvref_t<decltype(operands_[hana::size_c<1>])>;
    const Left &left = operands_[hana::size_c<0>];
    const Right &right = operands_[hana::size_c<1>];
    if constexpr (is_product<Left, element>) {
      if (contracts()) return record_fma_left<Op, element, shape>(left, right, where);
    } else if constexpr (is_product<Right, element>) {
      if (contracts()) return record_fma_right<Op, element, shape>(left, right, where);
    }
  }
  return hana::unpack(operands_, [&](const auto &...operand) {
    // A braced list is evaluated from left to right, by every compiler.
    return detail::record(Op::name, {record_operand<works_on, shape>(operand, where)...},
                          type_of<element, shape>, {}, where);
  });
}

} // namespace imbrex
