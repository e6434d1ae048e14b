#pragma once

#include <imbrex/math.hpp>

/// Random numbers by Philox4x32-10: a pure function of a seed and of an offset per element, the
/// same on every device. Different offsets give independent numbers.
namespace imbrex {

namespace detail {

template <class... Words>
auto record_philox(value key, location where, const Words &...words) {
  using Shape = broadcast_t<shape_of<Words>...>;
  const std::array<value, 1 + sizeof...(Words)> operands{key,
                                                         record_as<u32, Shape>(words, where)...};
  const type word = type_of<u32, Shape>;
  const type types[4] = {word, word, word, word};
  value results[4];
  record_many("philox", operands, {types, 4}, {}, where, results);
  using Tile = tile_t<u32, Shape>;
  return std::tuple{Tile(results[0]), Tile(results[1]), Tile(results[2]), Tile(results[3])};
}

template <class Seed>
value record_seed(const Seed &seed, location where) {
  static_assert(integer_element<element_t<Seed>> && shape_of<Seed>::rank == 0,
                "imbrex: a seed is an integer scalar");
  return record_as<u64, scalar_shape>(seed, where);
}

} // namespace detail

/// The generator itself: a 64-bit seed (the key) and four 32-bit counter words, tiles or numbers,
/// give four u32 tiles.
template <operand_or_literal Seed, operand_or_literal A, operand_or_literal B, operand_or_literal C,
          operand_or_literal D>
auto philox4x32(const Seed &seed, const A &a, const B &b, const C &c, const D &d,
                detail::location where = detail::location::current()) {
  static_assert(std::same_as<detail::common_t<A, B, C, D>, u32> ||
                    (detail::literal_number<A> && detail::literal_number<B> &&
                     detail::literal_number<C> && detail::literal_number<D>),
                "imbrex: counter words are u32");
  return detail::record_philox(detail::record_seed(seed, where), where, a, b, c, d);
}

/// Four u32 tiles of random bits: `auto [a, b, c, d] = randint4x(seed, offsets);` A 64-bit offset
/// fills two counter words.
template <operand_or_literal Seed, operand Offset>
auto randint4x(const Seed &seed, const Offset &offset,
               detail::location where = detail::location::current()) {
  using T = detail::element_t<Offset>;
  static_assert(integer_element<T>, "imbrex: an offset is an integer tile");
  const detail::value key = detail::record_seed(seed, where);
  if constexpr (detail::element_info<T>.bits < 64) {
    return detail::record_philox(key, where, cast<u32>(offset, where));
  } else {
    const auto bits = bitcast<u64>(offset, where);
    const auto high = detail::same_type_op<u64>("shr", {}, where, bits, 32);
    return detail::record_philox(key, where, cast<u32>(bits, where), cast<u32>(high, where));
  }
}
template <operand_or_literal Seed, operand Offset>
auto randint(const Seed &seed, const Offset &offset,
             detail::location where = detail::location::current()) {
  return std::get<0>(randint4x(seed, offset, where));
}

namespace detail {

/// Bits to [0, 1): the magnitude of the signed word times a factor just below 2^-31, never 1.
template <class Bits>
auto uniform(const Bits &bits, location where) {
  constexpr float scale = 4.6566127342e-10F;
  using Shape = shape_of<Bits>;
  const auto x = bitcast<i32>(bits, where);
  const tile_t<bool, Shape> negative(
      record("lt", {record_value(x, where), record_as<i32, Shape>(0, where)}, type_of<bool, Shape>,
             {}, where));
  const auto mirrored =
      same_type_op<i32>("sub", {}, where, same_type_op<i32>("neg", {}, where, x), 1);
  return same_type_op<f32>("mul", {}, where,
                           cast<f32>(imbrex::where(negative, mirrored, x, where), where), scale);
}

/// Box-Muller: two uniform tiles to two normal ones.
template <class U>
auto normal_pair(const U &u1, const U &u2, location where) {
  constexpr float smallest = 1.0e-7F; // the logarithm of 0 is infinite
  constexpr float turn = 6.283185307179586F;
  const auto angle = same_type_op<f32>("mul", {}, where, u2, turn);
  const auto logarithm = log(max(u1, smallest, where), where);
  const auto radius = sqrt(same_type_op<f32>("mul", {}, where, logarithm, -2.0F), where);
  return std::tuple{same_type_op<f32>("mul", {}, where, radius, cos(angle, where)),
                    same_type_op<f32>("mul", {}, where, radius, sin(angle, where))};
}

} // namespace detail

/// Uniform f32 in [0, 1).
template <operand_or_literal Seed, operand Offset>
auto rand(const Seed &seed, const Offset &offset,
          detail::location where = detail::location::current()) {
  return detail::uniform(randint(seed, offset, where), where);
}
template <operand_or_literal Seed, operand Offset>
auto rand4x(const Seed &seed, const Offset &offset,
            detail::location where = detail::location::current()) {
  const auto [a, b, c, d] = randint4x(seed, offset, where);
  const auto u = detail::uniform(a, where);
  const auto v = detail::uniform(b, where);
  const auto w = detail::uniform(c, where);
  return std::tuple{u, v, w, detail::uniform(d, where)};
}

/// Normal f32 with mean 0 and deviation 1.
template <operand_or_literal Seed, operand Offset>
auto randn(const Seed &seed, const Offset &offset,
           detail::location where = detail::location::current()) {
  const auto [a, b, c, d] = randint4x(seed, offset, where);
  const auto u = detail::uniform(a, where);
  return std::get<0>(detail::normal_pair(u, detail::uniform(b, where), where));
}
template <operand_or_literal Seed, operand Offset>
auto randn4x(const Seed &seed, const Offset &offset,
             detail::location where = detail::location::current()) {
  const auto [u, v, w, x] = rand4x(seed, offset, where);
  return std::tuple_cat(detail::normal_pair(u, v, where), detail::normal_pair(w, x, where));
}

} // namespace imbrex
