#pragma once

#include <imbrex/dot.hpp>

namespace imbrex {

namespace detail {

struct unscaled {};

template <class T>
inline constexpr bool is_scalable =
    is_f8<T> || std::same_as<T, f4e2m1> || std::same_as<T, f16> || std::same_as<T, bf16>;

// Elements along k per scale: of OCP MX, and of NVFP4.
inline constexpr int mx_block = 32, nvfp4_block = 16;

/// `T`: of the operand that is scaled.
template <class T, class S, int Rows, int K>
constexpr void check_scale() {
  if constexpr (!std::same_as<S, unscaled>) {
    constexpr bool is_mx = std::same_as<element_t<S>, e8m0>;
    constexpr bool is_nvfp4 = std::same_as<element_t<S>, f8e4m3fn>;
    static_assert(is_mx || is_nvfp4,
                  "imbrex: a scale of dot_scaled is a tile of e8m0, or of f8e4m3fn");
    static_assert(!is_nvfp4 || is_f8<T> || std::same_as<T, f4e2m1>,
                  "imbrex: scales of f8e4m3fn are for elements of f4e2m1 and f8");
    static_assert(K % mx_block == 0, "imbrex: dot_scaled needs k to be a multiple of 32");
    static_assert(!is_mx || std::same_as<shape_of<S>, shape_t<Rows, K / mx_block>>,
                  "imbrex: scales of dot_scaled are [M, K / 32] for a and [N, K / 32] for b");
    static_assert(!is_nvfp4 || std::same_as<shape_of<S>, shape_t<Rows, K / nvfp4_block>>,
                  "imbrex: scales of f8e4m3fn are [M, K / 16] for a and [N, K / 16] for b");
  }
}

template <class S>
concept scale_or_none = operand<S> || std::same_as<S, unscaled>;

} // namespace detail

/// In place of a scale: that operand has none.
inline constexpr detail::unscaled no_scale{};

/// (a · scale a) · (b · scale b) + acc in f32, for a [M, K] and b [K, N] of f8, f4e2m1, f16 or
/// bf16. A scale is e8m0, one per 32 elements along k: [M, K / 32] for a, [N, K / 32] for b (OCP
/// MX); or, for f8 and f4e2m1, f8e4m3fn whose sign does not count, one per 16 (NVFP4).
template <operand A, detail::scale_or_none SA, operand B, detail::scale_or_none SB, operand Acc>
auto dot_scaled(const A &a, const SA &scale_a, const B &b, const SB &scale_b, const Acc &acc,
                detail::location where = detail::location::current()) {
  using namespace detail;
  using PA = shape_of<A>;
  using PB = shape_of<B>;
  static_assert(is_scalable<element_t<A>> && is_scalable<element_t<B>>,
                "imbrex: dot_scaled works on f8, f4e2m1, f16 and bf16");
  static_assert(PA::rank == 2 && PB::rank == 2, "imbrex: dot_scaled needs two matrices");
  static_assert(PA::extents[1] == PB::extents[0],
                "imbrex: dot_scaled needs a's columns to equal b's rows");
  check_scale<element_t<A>, SA, PA::extents[0], PA::extents[1]>();
  check_scale<element_t<B>, SB, PB::extents[1], PA::extents[1]>();
  using Shape = shape_t<PA::extents[0], PB::extents[1]>;
  static_assert(std::same_as<element_t<Acc>, f32> && std::same_as<shape_of<Acc>, Shape>,
                "imbrex: the accumulator of dot_scaled is f32, with a's rows and b's columns");
  std::array<value, 5> operands{record_value(a, where), record_value(b, where),
                                record_value(acc, where)};
  std::size_t n = 3;
  if constexpr (operand<SA>) operands[n++] = record_value(scale_a, where);
  if constexpr (operand<SB>) operands[n++] = record_value(scale_b, where);
  return tile_t<f32, Shape>(
      detail::record("dot_scaled", {operands.data(), n}, type_of<f32, Shape>,
                     {{"scale_a", operand<SA> ? 1 : 0}, {"scale_b", operand<SB> ? 1 : 0}}, where));
}
template <operand A, detail::scale_or_none SA, operand B, detail::scale_or_none SB>
auto dot_scaled(const A &a, const SA &scale_a, const B &b, const SB &scale_b,
                detail::location where = detail::location::current()) {
  using Shape = detail::shape_t<detail::shape_of<A>::extents[0], detail::shape_of<B>::extents[1]>;
  const detail::tile_t<f32, Shape> zero(
      detail::record_constant(detail::type_of<f32, Shape>, 0, where));
  return dot_scaled(a, scale_a, b, scale_b, zero, where);
}

/// With a scale or both left out.
template <operand A, class B, class... More>
  requires(sizeof...(More) <= 1)
detail::refused dot_scaled(const A &, const B &, const More &...) {
  static_assert(detail::always_false<A>,
                "imbrex: dot_scaled takes a scale behind each matrix: dot_scaled(a, scale_a, b, "
                "scale_b), where no_scale stands for the scale of one that has none");
  return {};
}

} // namespace imbrex
