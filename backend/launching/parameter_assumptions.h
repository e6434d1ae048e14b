#pragma once

#include <array>
#include <cstdint>
#include <span>

/// What holds of the arguments of a launch, one by one, that code for it may take for granted.
namespace imbrex::launching {

/// What is assumed of one parameter; what does not apply to its type is false.
struct ParameterAssumptions {
  /// The bytes, or for integers the number, that "divisible" is about: the widest access there is.
  static constexpr std::int64_t kDivisor = 16;
  /// Whether code for one number, of as many bits as are passed, is right for the other: of other
  /// numbers than integers nothing is assumed.
  static constexpr bool areAlike(std::uint64_t a, std::uint64_t b, bool areIntegers) {
    constexpr auto kOf = static_cast<std::uint64_t>(kDivisor);
    return !areIntegers || (a % kOf == 0) == (b % kOf == 0);
  }

  /// An integer, or the address of a pointer's or view's data; all addresses of a table.
  bool isDivisible = false;
  bool hasUnitStride = false; ///< Neighbours on a view's last axis adjoin.
  /// The extent of a view's last axis, and its strides along the others, are divisible, in bytes.
  bool hasDivisibleRows = false;
  bool hasSmallExtents = false; ///< Each of a view's extents is less than 2^31.
  /// A view's elements begin where its data does, and end before kSmallSpan bytes behind that; no
  /// stride is negative.
  bool hasSmallSpan = false;
  /// An engine of the machine can load boxes of the view: it has unit stride and a divisible
  /// address; its other strides are divisible, in bytes, positive, less than 2^40, and each a
  /// multiple of the next; no extent is 0 or more than kMostBoxExtent.
  bool hasBoxes = false;

  /// Of elements that share a byte: the whole bytes, a power of two and kDivisor at most, that
  /// divide the same as hasDivisibleRows is about; 0 where they are none. Others ask for kDivisor
  /// or nothing, so that few launches want code of their own.
  std::int64_t sharedRowBytes = 0;

  /// So far a buffer may reach (lower/vocabulary.h).
  static constexpr std::int64_t kSmallSpan = (std::int64_t{1} << 31) - 1;

  /// A box that begins behind it ends before 2^31.
  static constexpr std::int64_t kMostBoxExtent = (std::int64_t{1} << 31) - (std::int64_t{1} << 16);

  /// All but sharedRowBytes, in one order.
  constexpr std::array<bool, 6> facts() const {
    const auto &[divisible, unitStride, divisibleRows, smallExtents, smallSpan, boxes, ofBytes] =
        *this; // names all members there are
    return {divisible, unitStride, divisibleRows, smallExtents, smallSpan, boxes};
  }
  /// Whether all that the others say is said here, too.
  bool cover(const ParameterAssumptions &others) const;
  /// How much is said; who covers others says no less.
  std::int64_t count() const;
  friend bool operator==(const ParameterAssumptions &, const ParameterAssumptions &) = default;
};

/// A view that a launch is given.
struct GivenView {
  std::uintptr_t address;
  std::span<const std::int64_t> extents, strides; ///< In elements, the last axis last.
  std::int32_t storageBits;                       ///< Of an element; less than 8: it shares a byte.
};

/// All that holds of it.
ParameterAssumptions assumptionsOf(const GivenView &view);
/// Whether each element has its own memory: a step along an axis leads beyond all that the axes
/// with smaller strides reach.
bool areElementsApart(const GivenView &view);

} // namespace imbrex::launching
