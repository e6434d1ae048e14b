#pragma once

#include <imbrex/detail/shape.hpp>
#include <imbrex/element.hpp>

#include <bit>
#include <utility>

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
concept literal_number =
    (std::is_arithmetic_v<S> && !std::same_as<S, long double> && !std::same_as<S, char> &&
     !std::same_as<S, wchar_t>) ||
    std::same_as<S, special_number> || std::same_as<S, f16> || std::same_as<S, bf16>;
/// A number of the host with a fraction, or that is none.
template <class S>
inline constexpr bool is_float_number =
    std::is_floating_point_v<S> || std::same_as<S, special_number> || std::same_as<S, f16> ||
    std::same_as<S, bf16>;

/// The element that a literal stands for where the other operand does not decide: int → i32,
/// double → f32, otherwise its own type by width and sign.
template <class S>
constexpr auto own_element() {
  if constexpr (std::same_as<S, bool>)
    return std::type_identity<bool>{};
  else if constexpr (is_float_number<S>)
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

template <class T>
inline constexpr float_format format_of = T::format;
template <>
inline constexpr float_format format_of<f32> = binary32;

/// An integer as the bits of a float, rounded once.
template <class T, class S>
constexpr std::uint64_t rounded_integer(S number) {
  const auto wide = static_cast<std::uint64_t>(number); // the sign repeated
  const bool negative = std::is_signed_v<S> && wide >> 63 != 0;
  const std::uint64_t magnitude = negative ? 0 - wide : wide;
  if constexpr (std::same_as<T, e8m0>)
    return e8m0(static_cast<double>(number)).bits;
  else if constexpr (std::same_as<T, f64>) {
    const std::uint64_t sign = static_cast<std::uint64_t>(negative) << 63;
    return magnitude == 0 ? 0 : sign | encode_magnitude(52, 1023, magnitude, 0);
  } else {
    return encode_finite(format_of<T>, negative, magnitude, 0);
  }
}

/// A host number as the bits of an element, rounded to nearest even. A float is not computed with
/// on the way, nor given by value: see double_bits.
template <class T, class S>
constexpr std::uint64_t element_bits(const S &number) {
  if constexpr (std::same_as<T, bool>) {
    if constexpr (is_float_number<S>)
      return double_bits(number) << 1 != 0 ? 1 : 0;
    else
      return number != S{} ? 1 : 0;
  } else if constexpr (integer_element<T>) {
    return static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<T>>(static_cast<T>(number)));
  } else if constexpr (!is_float_number<S>) {
    return rounded_integer<T>(number);
  } else if constexpr (std::same_as<T, e8m0>) {
    return e8m0::from_double(double_bits(number)).bits;
  } else if constexpr (std::same_as<T, f64>) {
    return double_bits(number);
  } else if constexpr (std::same_as<S, float> && std::same_as<T, f32>) {
    return std::bit_cast<std::uint32_t>(number); // a NaN as it is
  } else {
    return encode(format_of<T>, double_bits(number));
  }
}

/// The bits of an element.
template <element T>
constexpr std::uint64_t bits_of(const T &element_value) {
  if constexpr (integer_element<T> || std::is_floating_point_v<T> || std::same_as<T, bool>)
    return element_bits<T>(element_value);
  else
    return element_value.bits;
}

/// The element with these bits, put where it is to be.
template <element T>
constexpr void set_bits(T &element_value, std::uint64_t bits) {
  if constexpr (std::same_as<T, f64>)
    element_value = std::bit_cast<f64>(bits);
  else if constexpr (std::same_as<T, f32>)
    element_value = std::bit_cast<f32>(static_cast<std::uint32_t>(bits));
  else if constexpr (std::same_as<T, bool>)
    element_value = bits != 0;
  else if constexpr (integer_element<T>)
    element_value = static_cast<T>(bits);
  else
    element_value = T::from_bits(static_cast<typename T::storage>(bits));
}

/// Whether an element is near enough to a host number: an integer is in range, a finite number does
/// not become infinite. f8, f4 and e8m0 saturate, and so hold everything.
template <class T, class S>
constexpr bool fits(const S &number) {
  if constexpr (integer_element<T> && std::is_integral_v<S> && !std::same_as<S, bool>) {
    return std::in_range<T>(number);
  } else if constexpr (!float_element<T> || std::same_as<T, f64>) {
    return true;
  } else {
    if constexpr (is_float_number<S>)
      if ((double_bits(number) & infinite_double) == infinite_double) return true; // itself, or NaN
    constexpr float_format format = format_of<T>;
    constexpr std::uint32_t sign = std::uint32_t{1}
                                   << (format.exponent_bits + format.mantissa_bits);
    return (element_bits<T>(number) & ~std::uint64_t{sign}) != format.infinity;
  }
}

} // namespace imbrex::detail
