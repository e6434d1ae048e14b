#pragma once

#include <cstdint>

/// How prints and failed asserts reach the host: through a buffer of 64-bit words that every launch
/// of a kernel with such ops is given. What is in it is decoded by whoever launched.
///
///   word 0   words of records that blocks have asked for, more than there is room for included
///   word 1   words that there is room for, set by the launcher
///   word 2   0, or 1 + the site of the assert that failed first
///   word 3   its block, x | y << 32     word 4: z     word 5: its element, row-major
///   from word kHeaderWords on: the records of prints, each
///     site, block x | y << 32, block z, then the bits of every element of every operand
namespace imbrex::lower::observations {

enum HeaderWord : std::uint64_t { kAsked, kRoom, kFailedSite, kFailedXy, kFailedZ, kFailedElement };
inline constexpr std::uint64_t kHeaderWords = 8;
inline constexpr std::uint64_t kRecordWords = 3; ///< In front of a record's elements.

} // namespace imbrex::lower::observations
