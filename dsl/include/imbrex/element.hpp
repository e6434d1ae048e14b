#pragma once

#include <imbrex/element_types.hpp>

#include <concepts>
#include <string_view>
#include <type_traits>

namespace imbrex {

/// What kind of number an element type is; arithmetic on two kinds goes to the later one.
enum class element_kind { boolean, integer, floating, narrow };

namespace detail {

struct element_row {
  const char *name;
  int bits;
  element_kind kind;
  bool is_signed;
};

template <class T>
inline constexpr element_row element_info{nullptr, 0, element_kind::boolean, false};
template <>
inline constexpr element_row element_info<bool>{"bool", 1, element_kind::boolean, false};
template <>
inline constexpr element_row element_info<i8>{"i8", 8, element_kind::integer, true};
template <>
inline constexpr element_row element_info<i16>{"i16", 16, element_kind::integer, true};
template <>
inline constexpr element_row element_info<i32>{"i32", 32, element_kind::integer, true};
template <>
inline constexpr element_row element_info<i64>{"i64", 64, element_kind::integer, true};
template <>
inline constexpr element_row element_info<u8>{"u8", 8, element_kind::integer, false};
template <>
inline constexpr element_row element_info<u16>{"u16", 16, element_kind::integer, false};
template <>
inline constexpr element_row element_info<u32>{"u32", 32, element_kind::integer, false};
template <>
inline constexpr element_row element_info<u64>{"u64", 64, element_kind::integer, false};
template <>
inline constexpr element_row element_info<f16>{"f16", 16, element_kind::floating, true};
template <>
inline constexpr element_row element_info<bf16>{"bf16", 16, element_kind::floating, true};
template <>
inline constexpr element_row element_info<f32>{"f32", 32, element_kind::floating, true};
template <>
inline constexpr element_row element_info<f64>{"f64", 64, element_kind::floating, true};
template <>
inline constexpr element_row element_info<f8e4m3fn>{"f8e4m3fn", 8, element_kind::narrow, true};
template <>
inline constexpr element_row element_info<f8e5m2>{"f8e5m2", 8, element_kind::narrow, true};
template <>
inline constexpr element_row element_info<f8e4m3fnuz>{"f8e4m3fnuz", 8, element_kind::narrow, true};
template <>
inline constexpr element_row element_info<f8e5m2fnuz>{"f8e5m2fnuz", 8, element_kind::narrow, true};
template <>
inline constexpr element_row element_info<f4e2m1>{"f4e2m1", 4, element_kind::narrow, true};
template <>
inline constexpr element_row element_info<e8m0>{"e8m0", 8, element_kind::narrow, false};

} // namespace detail

/// A type that a tile can be made of.
template <class T>
concept element = detail::element_info<T>.name != nullptr;

/// The element's name in messages and in the text of the IR.
template <element T>
inline constexpr std::string_view element_name = detail::element_info<T>.name;

template <class T>
concept integer_element = element<T> && detail::element_info<T>.kind == element_kind::integer;
template <class T>
concept signed_element = integer_element<T> && detail::element_info<T>.is_signed;
/// A float with arithmetic of its own: f16, bf16, f32, f64.
template <class T>
concept float_element = element<T> && detail::element_info<T>.kind == element_kind::floating;
/// A float that is only stored, converted and multiplied by dot: f8…, f4e2m1, e8m0.
template <class T>
concept narrow_element = element<T> && detail::element_info<T>.kind == element_kind::narrow;
template <class T>
concept number_element = integer_element<T> || float_element<T>;

} // namespace imbrex
