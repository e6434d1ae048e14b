#pragma once

#include <imbrex/tile.hpp>

namespace imbrex::detail {

/// A value on its way into a variable, and the line that gives it: an operator has no room for a
/// default argument, but the conversion to its parameter has. A product of floats is not computed
/// yet, so that `v += a * b` becomes one fused multiply-add.
template <class Tile>
class located;
template <class T, int... Extents>
class located<tile<T, Extents...>> {
  using shape = shape_t<Extents...>;

public:
  template <operand_or_literal X>
  located(const X &x, location line = location::current()) : where(line) {
    if constexpr (is_float_product<X>()) {
      if (contracts()) {
        hana::unpack(x.operands(), [&](const auto &a, const auto &b) {
          first_ = record_operand<T, shape>(a, where);
          second_ = record_operand<T, shape>(b, where);
        });
        is_product_ = true;
        return;
      }
    }
    check_given<X>();
    first_ = record_as<T, shape>(x, where);
  }

  value get() const {
    return is_product_ ? record("mul", {first_, second_}, type_of<T, shape>, {}, where) : first_;
  }
  /// variable + this, or variable - this.
  value added_to(value variable, bool subtracted) const {
    static_assert(std::same_as<number_of<T>, T>,
                  "imbrex: a sum of bools is an i32, which a bool variable does not hold; use |=");
    const type &t = type_of<T, shape>;
    if (!is_product_) return record(subtracted ? "sub" : "add", {variable, first_}, t, {}, where);
    const value a = subtracted ? record("neg", {first_}, t, {}, where) : first_;
    return record("fma", {a, second_, variable}, t, {}, where);
  }

  const location where;

private:
  template <class X>
  static constexpr bool is_float_product() {
    if constexpr (!operand<X>) {
      return false;
    } else if constexpr (is_product<X, T> && broadcastable<shape_of<X>, shape>()) {
      return std::same_as<broadcast_t<shape_of<X>, shape>, shape>;
    } else {
      return false;
    }
  }
  template <class X>
  static constexpr void check_given() {
    if constexpr (operand<X>) {
      if constexpr (shape_of<X>::rank == 0)
        check_assignable<T, scalar_shape, X>();
      else
        check_assignable<T, shape, X>();
    } else {
      check_assignable<T, shape, X>();
    }
  }

  value first_;
  value second_;
  bool is_product_ = false;
};

} // namespace imbrex::detail
