#pragma once

#include <imbrex/dsl.hpp>

#include <limits>
#include <type_traits>

/// Numbers as integers that order as a selection orders them, so that one comparison of integers
/// says which score is better, of whatever type the scores are.
namespace imbrex::kernels {

/// The integer that ranks a score: 64 bits for a score of 64, else 32.
template <number_element T>
using rank_key_of = std::conditional_t<sizeof(T) == 8, i64, i32>;

/// The rank of what is never selected, below every other: NaN, and the worst number there is (-inf
/// where the largest are selected, +inf where the smallest are, of integers the lowest or highest).
template <number_element T>
inline constexpr rank_key_of<T> unselectable = std::numeric_limits<rank_key_of<T>>::lowest();

/// The worst score there is, which is never selected.
template <number_element T>
scalar<T> worst_score(bool largest) {
  if constexpr (float_element<T>)
    return largest ? scalar<T>(-constants::infinity) : scalar<T>(constants::infinity);
  else
    return largest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
}

/// The larger, the better; -0 and +0 rank alike.
template <float_element T, int... Extents>
tile<rank_key_of<T>, Extents...> rank_key(const tile<T, Extents...> &score, bool largest) {
  if constexpr (sizeof(T) == 2) { // every f16 and bf16 is an f32
    return rank_key(tile<f32, Extents...>(cast<f32>(score)), largest);
  } else {
    using Key = rank_key_of<T>;
    using Keys = tile<Key, Extents...>;
    using Numbers = tile<T, Extents...>;
    // A sum with +0 is never -0, and neither is a difference from it.
    Numbers number = largest ? Numbers(score + 0) : Numbers(0 - score);
    // Floats order as their bits do, but negative ones the other way round.
    Keys bits = bitcast<Key>(number);
    Keys ordered = bits ^ (bits >> (8 * sizeof(Key) - 1) & std::numeric_limits<Key>::max());
    return where(number > -constants::infinity, ordered, unselectable<T>);
  }
}

template <integer_element T, int... Extents>
tile<rank_key_of<T>, Extents...> rank_key(const tile<T, Extents...> &score, bool largest) {
  using Key = rank_key_of<T>;
  using Keys = tile<Key, Extents...>;
  const auto directed = [&](const Keys &key) { return largest ? key : Keys(~key); };
  if constexpr (sizeof(T) < sizeof(Key)) {
    return where(score != worst_score<T>(largest), directed(cast<Key>(score)), unselectable<T>);
  } else if constexpr (signed_element<T>) {
    return directed(score);
  } else {
    return directed(cast<Key>(score) ^ std::numeric_limits<Key>::lowest());
  }
}

} // namespace imbrex::kernels
