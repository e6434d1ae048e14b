#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// What the processor's code calls in place of a loop of its own.
namespace imbrex::launching {

/// How elements are ordered: from the bits of one to a number that orders unsigned as the elements
/// do. Code has one as a constant, so that its layout is what both sides count on.
struct KeyRule {
  enum Form : std::uint32_t {
    Unsigned,
    Signed,
    SignAndMagnitude, ///< Floats: negative numbers order against their bits.
  };
  std::uint64_t mask; ///< The element's bits.
  /// Codes with (bits & nanMask) from nanLeast to nanMost are NaNs, all equal, which come last in
  /// either direction; there is none where nanLeast is more than nanMost.
  std::uint64_t nanMask, nanLeast, nanMost;
  std::uint64_t nanKey; ///< More than all others, or as much as the last of them.
  Form form;
  std::uint32_t isDescending;

  std::uint64_t operator()(std::uint64_t bits) const {
    const std::uint64_t code = bits & nanMask, sign = mask ^ mask >> 1;
    if (code >= nanLeast && code <= nanMost) return nanKey;
    const std::uint64_t flip = isDescending != 0 ? mask : 0;
    if (form == Signed) return (bits ^ sign) ^ flip;
    if (form == Unsigned) return bits ^ flip;
    return ((bits & sign) != 0 ? ~bits & mask : bits | sign) ^ flip;
  }
};
static_assert(sizeof(KeyRule) == 48);

/// Tiles in memory of one shape, cut at the axis that is sorted along: so many lines outside of it,
/// elements along it, and neighbours between two of these.
struct SortShape {
  std::int64_t outer;
  std::int64_t along;
  std::int64_t inner;
};

/// A row-major tile in scratch.
struct SortTile {
  std::byte *data;
  std::int64_t elementBytes;
};

/// Sort each line of the first tile, in place, and move the others' elements with it: stable, the
/// order total as docs/semantics.md says.
void sortLines(const KeyRule &rule, const SortShape &shape, std::span<const SortTile> tiles);

/// The same as code calls it: so many tiles, of which each has its data and its element's bytes.
void sortForCode(const KeyRule *rule, std::int64_t outer, std::int64_t along, std::int64_t inner,
                 std::uint32_t count, std::byte *const *data, const std::int64_t *bytes);

} // namespace imbrex::launching
