#pragma once

#include <imbrex/detail/array_memory.hpp>
#include <imbrex/dlpack.hpp>

#include <concepts>
#include <cstddef>
#include <ranges>
#include <type_traits>
#include <utility>

/// What may be given for an array, by what it looks like, and what its elements are.
namespace imbrex::detail {

template <class A>
concept versioned_dlpack_array =
    std::same_as<std::remove_cvref_t<A>, dlpack::managed_tensor_versioned>;
template <class A>
concept dlpack_array =
    std::same_as<std::remove_cvref_t<A>, dlpack::tensor> || versioned_dlpack_array<A>;

/// buffer and tensor_ref.
template <class A>
concept own_array = requires(const std::remove_cvref_t<A> &a) {
  { a.layout() } -> std::convertible_to<const layout &>;
  { a.block() } -> std::convertible_to<memory_block *>;
};

/// std::mdspan and what is made like it: an extent and a stride for each of a fixed number of axes.
template <class A>
concept mdspan_like = !own_array<A> && requires(const std::remove_cvref_t<A> &a) {
  { a.extent(0) } -> std::integral;
  { a.stride(0) } -> std::integral;
  { a.rank() } -> std::integral;
} && (requires(std::remove_cvref_t<A> &a) { a.data(); } ||
      requires(std::remove_cvref_t<A> &a) { a.data_handle(); });

/// std::span, std::vector, std::array.
template <class A>
concept contiguous_array = !own_array<A> && !mdspan_like<A> && std::ranges::contiguous_range<A> &&
                           std::ranges::sized_range<A>;

template <class A>
concept raw_pointer = std::is_pointer_v<std::remove_cvref_t<A>>;

template <class A>
auto *first_of(A &a) {
  if constexpr (requires { a.data_handle(); })
    return a.data_handle();
  else
    return a.data();
}

/// What an argument's elements are; const if they can't be written.
template <class A>
struct given_element {
  using type = std::remove_pointer_t<decltype(first_of(std::declval<A &>()))>;
};
template <own_array A>
struct given_element<A> {
  using owner = std::remove_cvref_t<A>;
  static constexpr bool read_only =
      std::is_const_v<std::remove_pointer_t<decltype(std::declval<A &>().data())>>;
  using type = std::conditional_t<read_only, const typename owner::element_type,
                                  typename owner::element_type>;
};
template <contiguous_array A>
struct given_element<A> {
  using type = std::remove_pointer_t<decltype(std::ranges::data(std::declval<A &>()))>;
};
template <raw_pointer A>
struct given_element<A> {
  using type = std::remove_pointer_t<std::remove_cvref_t<A>>;
};

template <class A>
concept array_argument = dlpack_array<A> || own_array<A> || mdspan_like<A> || contiguous_array<A>;

/// Arrays for the pointers of a table, which `table_of` was given: what it takes for each.
template <class T, std::size_t Count>
class listed_arrays;
template <class A>
inline constexpr bool is_listed = false;
template <class T, std::size_t Count>
inline constexpr bool is_listed<listed_arrays<T, Count>> = true;

/// A range of what may be given for a pointer: arrays, or pointers themselves.
template <class A>
concept array_range =
    std::ranges::sized_range<A &> &&
    (array_argument<std::remove_reference_t<std::ranges::range_reference_t<A &>>> ||
     raw_pointer<std::ranges::range_reference_t<A &>>);

template <class A>
concept table_argument = is_listed<std::remove_cvref_t<A>> || array_range<A>;

/// What the arrays of a table are of; const if one of them can't be written.
template <class A>
struct listed_element {
  using array = std::remove_reference_t<std::ranges::range_reference_t<A &>>;
  using type = typename given_element<array>::type;
};
template <class A>
  requires(dlpack_array<std::ranges::range_reference_t<A &>>)
struct listed_element<A> {
  using type = void; // which the launch knows
};
template <class T, std::size_t Count>
struct listed_element<listed_arrays<T, Count>> {
  using type = T;
};
template <class T, std::size_t Count>
struct listed_element<const listed_arrays<T, Count>> {
  using type = T;
};

/// Integers and what else C++ calls so, but for the letters.
template <class A>
concept whole_number =
    std::integral<A> && !std::same_as<A, bool> && !std::same_as<A, wchar_t> &&
    !std::same_as<A, char8_t> && !std::same_as<A, char16_t> && !std::same_as<A, char32_t>;

} // namespace imbrex::detail
