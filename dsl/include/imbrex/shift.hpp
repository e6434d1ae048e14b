#pragma once

#include <imbrex/tile.hpp>

namespace imbrex {

namespace detail {

/// A shift. The result has the left operand's type; an amount of another width is brought to it
/// without losing that it is too large.
template <class T, class L, class R>
struct shift_expression : traced {
  using element = T;
  using shape = broadcast_t<typename L::shape, typename R::shape>;

  bool left;
  L what;
  R amount;

  shift_expression(bool to_the_left, const L &l, const R &r)
      : left(to_the_left), what(l), amount(r) {}

  value record(location where) const {
    const value x = record_operand<T, shape>(what, where);
    const value by = record_amount(amount, where);
    return detail::record(left ? "shl" : "shr", {x, by}, type_of<T, shape>, {}, where);
  }

private:
  static constexpr int width = element_info<T>.bits;

  template <class S>
  static value record_amount(const literal<S> &by, location where) {
    check(by.number < S{} || std::cmp_greater_equal(by.number, width), std::to_string(by.number),
          where);
    return record_literal<T, shape>(by.number, where);
  }
  template <auto N>
  static value record_amount(const static_literal<N> &, location where) {
    static_assert(N >= 0 && N < width,
                  "imbrex: the shift is negative or reaches the width of the element type");
    return record_literal<T, shape>(N, where);
  }
  template <class E>
  static value record_amount(const E &by, location where) {
    using Amount = typename E::element;
    if constexpr (element_info<Amount>.bits <= width) {
      return record_operand<T, shape>(by, where);
    } else {
      // Cut to the width, an amount of 256 would be 0: it becomes the width before.
      using U = std::make_unsigned_t<Amount>;
      using Own = typename E::shape;
      const type &wide = type_of<U, Own>;
      value v = record_operand<Amount, Own>(by, where);
      if constexpr (!std::same_as<U, Amount>) v = detail::record("bitcast", {v}, wide, {}, where);
      const value most = record_constant(wide, static_cast<std::uint64_t>(width), where);
      v = detail::record("min", {v, most}, wide, {}, where);
      v = record_cast(v, type_of<T, Own>, where);
      if constexpr (!std::same_as<Own, shape>) v = record_broadcast(v, type_of<T, shape>, where);
      return v;
    }
  }
  static void check(bool too_far, const std::string &by, location where) {
    if (too_far)
      raise("ShiftTooFar", where,
            {by, element_info<T>.name, std::to_string(width), std::to_string(width - 1)});
  }
};

template <class A, class B>
auto make_shift(bool left, A &&a, B &&b) {
  static_assert(integer_element<element_t<A>> && integer_element<element_t<B>>,
                "imbrex: << and >> work on integers");
  auto l = hold(std::forward<A>(a));
  auto r = hold(std::forward<B>(b));
  using L = decltype(l);
  using R = decltype(r);
  // A number on the left takes the amount's type, as under every other operator.
  using T = std::conditional_t<operand<A>, element_t<A>, typename expression_meet<L, R>::type>;
  return shift_expression<T, L, R>(left, l, r);
}

} // namespace detail

/// Left: 0 once the amount reaches the width. A negative amount counts as a large one.
template <class A, class B>
  requires detail::operator_pair<A, B>
auto operator<<(A &&a, B &&b) {
  return detail::make_shift(true, std::forward<A>(a), std::forward<B>(b));
}
/// Right, of signed elements with the sign: 0 or the sign once the amount reaches the width.
template <class A, class B>
  requires detail::operator_pair<A, B>
auto operator>>(A &&a, B &&b) {
  return detail::make_shift(false, std::forward<A>(a), std::forward<B>(b));
}

} // namespace imbrex
