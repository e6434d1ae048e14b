#pragma once

#include "runtime/aot/driver/read_as.h"

#include <cstddef>
#include <cstdint>
#include <vector>

/// A launch as words, of which two are compared at once
/// (docs/adr/0026-a-launch-is-compared-as-words.md). They are padded with zeros, to two and then
/// four for each step (aot::paddedWords).
namespace imbrex::driver {

using WordPair [[gnu::vector_size(16)]] = std::uint64_t;

inline WordPair pairAt(const std::uint64_t *words) { return readAs<WordPair>(words); }

inline bool isZero(WordPair pair) { return (pair[0] | pair[1]) == 0; }

/// Where words begin that are kept two by two: element and vector may be one memory.
inline std::uint64_t *wordsOf(std::vector<WordPair> &pairs) {
  return reinterpret_cast<std::uint64_t *>(pairs.data());
}

/// Whether the words are the same, and nothing was `different` before. No step of it branches: the
/// launch that is expected is nearly always the one that comes.
inline bool areSame(const std::vector<WordPair> &kept, const std::uint64_t *words,
                    WordPair different) {
  const WordPair *one = kept.data(), *const end = one + kept.size();
  different |= pairAt(words) ^ *one;
  for (++one, words += 2; one != end; one += 2, words += 4)
    different |= (pairAt(words) ^ one[0]) | (pairAt(words + 2) ^ one[1]);
  return isZero(different);
}

/// The grid that a launch brought, of three 64-bit numbers, if it brought one.
template <class Grid>
class KeptGrid {
public:
  void keep(const Grid *given) {
    first_ = given != nullptr ? readAs<WordPair>(given) : WordPair{};
    last_ = given != nullptr ? lastOf(*given) : kNone;
  }

  /// Zeros where another launch brings the same, or also none.
  WordPair differenceOf(const Grid *given) const {
    if (given == nullptr) return last_ ^ kNone;
    return (readAs<WordPair>(given) ^ first_) | (lastOf(*given) ^ last_);
  }

private:
  static constexpr WordPair kNone{0, 1}; // a grid of zeros is one

  static_assert(sizeof(Grid) == 3 * sizeof(std::uint64_t));
  static WordPair lastOf(const Grid &grid) {
    const auto *const third = reinterpret_cast<const std::byte *>(&grid) + sizeof(WordPair);
    return WordPair{readAs<std::uint64_t>(third), 0};
  }

  WordPair first_{}, last_ = kNone;
};

} // namespace imbrex::driver
