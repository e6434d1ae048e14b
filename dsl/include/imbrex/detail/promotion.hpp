#pragma once

#include <imbrex/detail/shape.hpp>
#include <imbrex/element.hpp>

#include <limits>

/// Which element type two operands meet in (docs/language.md, promotion). Kinds go bool < integer <
/// float; within a kind the wider wins; equally wide integers of both signs meet in the unsigned.
namespace imbrex::detail {

template <class T>
inline constexpr auto kind_of = element_info<T>.kind;

template <class A, class B>
constexpr auto meet_of() {
  constexpr bool has_narrow = narrow_element<A> || narrow_element<B>;
  constexpr bool halves_differ = (std::same_as<A, f16> && std::same_as<B, bf16>) ||
                                 (std::same_as<A, bf16> && std::same_as<B, f16>);
  static_assert(!has_narrow, "imbrex: f8, f4 and e8m0 tiles have no arithmetic; cast them first, "
                             "to f16, bf16 or f32");
  static_assert(!halves_differ, "imbrex: f16 and bf16 do not mix; cast one of them");
  if constexpr (kind_of<A> != kind_of<B>) {
    if constexpr (kind_of<A> < kind_of<B>)
      return std::type_identity<B>{};
    else
      return std::type_identity<A>{};
  } else if constexpr (element_info<A>.bits != element_info<B>.bits) {
    if constexpr (element_info<A>.bits < element_info<B>.bits)
      return std::type_identity<B>{};
    else
      return std::type_identity<A>{};
  } else if constexpr (integer_element<A> && signed_element<A>) {
    return std::type_identity<B>{};
  } else {
    return std::type_identity<A>{};
  }
}
template <class A, class B>
struct meet_two {
  using type = typename decltype(meet_of<A, B>())::type;
};
template <class A>
struct meet_two<A, A> {
  using type = A;
};
template <class A, class B>
using meet = typename meet_two<A, B>::type;

template <class T>
struct computed_with {
  static_assert(!narrow_element<T>, "imbrex: f8, f4 and e8m0 tiles have no arithmetic; cast them "
                                    "first, to f16, bf16 or f32");
  using type = T;
};
/// The element itself, which must be one that is computed with or compared.
template <class T>
using computed = typename computed_with<T>::type;
/// bool counts as i32 where numbers are computed with.
template <class T>
using number_of = std::conditional_t<std::same_as<computed<T>, bool>, i32, T>;

template <class A, class B>
inline constexpr bool mixed_sign =
    integer_element<A> && integer_element<B> && signed_element<A> != signed_element<B>;

/// Every value of From is one of To: such a conversion may be left to the compiler.
template <class From, class To>
constexpr bool widens() {
  constexpr auto from = element_info<From>;
  constexpr auto to = element_info<To>;
  if constexpr (integer_element<From> && integer_element<To>)
    return from.is_signed == to.is_signed ? from.bits <= to.bits
                                          : to.is_signed && from.bits < to.bits;
  else if constexpr (float_element<From> && float_element<To>)
    return from.bits < to.bits;
  else
    return false;
}

// --- literals: numbers of the host in an expression ---

template <class S>
concept literal_number = std::is_arithmetic_v<S> && !std::same_as<S, long double> &&
                         !std::same_as<S, char> && !std::same_as<S, wchar_t>;

/// The element that a literal stands for where the other operand does not decide: int → i32,
/// double → f32, otherwise its own type by width and sign.
template <class S>
constexpr auto own_element() {
  if constexpr (std::same_as<S, bool>)
    return std::type_identity<bool>{};
  else if constexpr (std::is_floating_point_v<S>)
    return std::type_identity<f32>{};
  else if constexpr (std::is_signed_v<S>)
    return std::type_identity<std::conditional_t<sizeof(S) <= 4, i32, i64>>{};
  else
    return std::type_identity<std::conditional_t<sizeof(S) <= 4, u32, u64>>{};
}
template <class S>
using own_element_t = typename decltype(own_element<S>())::type;

/// The element of a literal beside operands of element T: T, unless the literal is of a later kind.
template <class S, class T>
using literal_element =
    std::conditional_t<(kind_of<own_element_t<S>> <= kind_of<T>), T, own_element_t<S>>;

/// The bits of an element.
template <class T>
constexpr std::uint64_t bits_of(T element_value) {
  if constexpr (std::same_as<T, bool>)
    return element_value ? 1 : 0;
  else if constexpr (std::same_as<T, f32>)
    return std::bit_cast<std::uint32_t>(element_value);
  else if constexpr (std::same_as<T, f64>)
    return std::bit_cast<std::uint64_t>(element_value);
  else if constexpr (integer_element<T>)
    return static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<T>>(element_value));
  else
    return element_value.bits;
}

/// A host number as an element, rounded to nearest even.
template <class T, class S>
constexpr T to_element(S number) {
  if constexpr (float_element<T> || narrow_element<T>) {
    if constexpr (std::same_as<T, f64> || std::same_as<T, f32>)
      return to_host_float<T>(number);
    else
      return T(to_encode(number));
  } else if constexpr (std::same_as<T, bool>) {
    return !is_zero(number);
  } else {
    return static_cast<T>(number);
  }
}

/// Whether an element is near enough to a host number: an integer is in range, a finite number does
/// not become infinite. f8, f4 and e8m0 saturate, and so hold everything.
template <class T, class S>
constexpr bool fits(S number) {
  // Half a step beyond the largest f32, where numbers begin to round to infinity.
  constexpr double beyond_f32 = 0x1.ffffffp127;
  if constexpr (integer_element<T> && std::is_integral_v<S> && !std::same_as<S, bool>) {
    return std::in_range<T>(number);
  } else if constexpr (!float_element<T>) {
    return true;
  } else {
    const auto x = to_encode(number);
    if (!(x - x == 0)) return true; // NaN or infinite itself
    if constexpr (std::same_as<T, f32>)
      return -beyond_f32 < x && x < beyond_f32;
    else if constexpr (std::same_as<T, f64>)
      return true;
    else
      return (T(x).bits & 0x7fffU) != T(std::numeric_limits<double>::infinity()).bits;
  }
}

} // namespace imbrex::detail
