#pragma once

#include <imbrex/create.hpp>

namespace imbrex {

/// How products of f32 are computed. `ieee` is exact; the others round the operands first:
/// `tf32` to 10 mantissa bits, `tf32x3` and `bf16x3` to sums of parts (docs/semantics.md).
enum class precision { ieee, tf32, tf32x3, bf16x3 };

struct dot_options {
  constexpr dot_options() = default;
  constexpr dot_options(precision p) : how(p) {}
  precision how = precision::ieee;
  int promote = 0;
  bool promotes = false;
};
/// Let sums of f8 products stay in the matrix unit's short accumulator for `k` products, then move
/// them to f32: `dot(a, b, acc, promote_every(128))`.
constexpr dot_options promote_every(int k) {
  dot_options options;
  options.promote = k;
  options.promotes = true;
  return options;
}

namespace detail {

template <class T>
inline constexpr bool is_f8 =
    narrow_element<T> && element_info<T>.bits == 8 && !std::same_as<T, e8m0>;

template <class T>
inline constexpr bool is_byte = std::same_as<T, i8> || std::same_as<T, u8>;

template <class T>
inline constexpr bool is_multiplied = is_byte<T> || float_element<T> || is_f8<T>;

/// Of two types that no product has, says which of the factors is to be cast, and to what.
template <class A, class B>
constexpr void check_factors() {
  constexpr bool known = is_multiplied<A> && is_multiplied<B>;
  constexpr bool alike = !known || std::same_as<A, B> || (is_f8<A> && is_f8<B>);
  constexpr bool same_width = sizeof(A) == sizeof(B);
  static_assert(known,
                "imbrex: dot works on i8, u8, f8, f16, bf16, f32 and f64; cast others, f4e2m1 "
                "among them, which dot_scaled takes as it is");
  static_assert(
      alike || !(is_byte<A> && is_byte<B>),
      "imbrex: dot(a, b) needs one element type on both sides; cast both i8 and u8 to f16, "
      "which is exact, or one to the other's type if its values fit");
  static_assert(alike || is_byte<A> == is_byte<B> || is_f8<A> || is_f8<B>,
                "imbrex: dot(a, b) needs one element type on both sides; cast the i8 or u8 to the "
                "other's type, which is exact: cast<f16>(a) where b is of f16");
  static_assert(
      alike || is_byte<A> == is_byte<B> || !(is_f8<A> || is_f8<B>),
      "imbrex: dot(a, b) needs one element type on both sides; cast both the integers and "
      "the f8 to f16, which is exact");
  static_assert(
      alike || is_byte<A> || is_byte<B> || same_width,
      "imbrex: dot(a, b) needs one element type on both sides (f8 types may mix); cast the "
      "narrower to the wider's type, which is exact, or the wider, which rounds it");
  static_assert(
      alike || is_byte<A> || is_byte<B> || !same_width,
      "imbrex: dot(a, b) needs one element type on both sides; cast the f16 or the bf16 to "
      "the other's type, which rounds it, or both to f32, which is exact");
}

/// The element of a product's sums.
template <class A, class B>
constexpr auto dot_sum() {
  check_factors<A, B>();
  if constexpr (is_byte<A>)
    return std::type_identity<i32>{};
  else if constexpr (std::same_as<A, f64>)
    return std::type_identity<f64>{};
  else
    return std::type_identity<f32>{};
}

template <class A, class B>
constexpr auto dot_shape() {
  static_assert(A::rank == B::rank && (A::rank == 2 || A::rank == 3),
                "imbrex: dot(a, b) needs two matrices, or two stacks of matrices of rank 3");
  if constexpr (A::rank == 2 && B::rank == 2) {
    static_assert(A::extents[1] == B::extents[0],
                  "imbrex: dot(a, b) needs a's columns to equal b's rows");
    return shape_t<A::extents[0], B::extents[1]>{};
  } else if constexpr (A::rank == 3 && B::rank == 3) {
    static_assert(A::extents[0] == B::extents[0],
                  "imbrex: dot(a, b) needs stacks of the same height");
    static_assert(A::extents[2] == B::extents[1],
                  "imbrex: dot(a, b) needs a's columns to equal b's rows");
    return shape_t<A::extents[0], A::extents[1], B::extents[2]>{};
  } else {
    return shape_t<>{};
  }
}

inline constexpr std::string_view precision_words[] = {"ieee", "tf32", "tf32x3", "bf16x3"};

/// What is asked for must be of such operands.
template <class A>
void check_options(const dot_options &options, location where) {
  const std::string element(element_info<A>.name);
  if (options.how != precision::ieee && !std::same_as<A, f32>)
    raise("PrecisionOfProduct", where,
          {std::string(precision_words[static_cast<int>(options.how)]), element});
  if (options.promotes && (!is_f8<A> || options.promote < 1))
    raise("PromotionOfProduct", where, {std::to_string(options.promote), element});
}

} // namespace detail

/// a · b + acc over the last two axes, of matrices [M, K] and [K, N] or stacks of them. Products
/// are exact; sums are i32 for i8 and u8, f64 for f64, else f32, in any order.
template <operand A, operand B, operand Acc>
auto dot(const A &a, const B &b, const Acc &acc, dot_options options = {},
         detail::location where = detail::location::current()) {
  using namespace detail;
  using T = typename decltype(dot_sum<element_t<A>, element_t<B>>())::type;
  using Shape = decltype(dot_shape<shape_of<A>, shape_of<B>>());
  static_assert(std::same_as<element_t<Acc>, T>,
                "imbrex: the accumulator of dot is i32 for i8 and u8, f64 for f64, else f32");
  static_assert(std::same_as<shape_of<Acc>, Shape>,
                "imbrex: the accumulator of dot has as many rows as a and as many columns as b");
  check_options<element_t<A>>(options, where);
  const std::array<value, 3> operands{record_value(a, where), record_value(b, where),
                                      record_value(acc, where)};
  return tile_t<T, Shape>(
      detail::record("dot", operands, type_of<T, Shape>,
                     {{"precision", precision_words[static_cast<int>(options.how)]},
                      {"promote_every", options.promote}},
                     where));
}
/// a · b
template <operand A, operand B>
auto dot(const A &a, const B &b, dot_options options = {},
         detail::location where = detail::location::current()) {
  using namespace detail;
  using T = typename decltype(dot_sum<element_t<A>, element_t<B>>())::type;
  using Shape = decltype(dot_shape<shape_of<A>, shape_of<B>>());
  const tile_t<T, Shape> zero(record_constant(type_of<T, Shape>, 0, where));
  return dot(a, b, zero, options, where);
}

} // namespace imbrex
