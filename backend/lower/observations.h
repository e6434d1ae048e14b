#pragma once

#include "backend/lower/kernel_interface.h"
#include "backend/support/diagnostics.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <cstdio>
#include <vector>

/// How prints and failed asserts reach the host: through a buffer of 64-bit words that every launch
/// of a kernel with such ops is given. What is in it is decoded by whoever launched.
///
///   word 0   words of records that blocks have asked for, more than there is room for included
///   word 1   words that there is room for, set by the launcher
///   word 2   0, or 1 + the site of the assert that failed first
///   word 3   its block, x | y << 32     word 4: z     word 5: its element, row-major
///   from word kHeaderWords on: the records of prints, each
///     1 + the site, block x | y << 32, block z, then the bits of every element of every operand
namespace imbrex::lower::observations {

enum HeaderWord : std::uint64_t { kAsked, kRoom, kFailedSite, kFailedXy, kFailedZ, kFailedElement };
inline constexpr std::uint64_t kHeaderWords = 8;
inline constexpr std::uint64_t kRecordWords = 3; ///< In front of a record's elements.
/// Words of records that a launch has room for where nobody says otherwise.
inline constexpr std::uint64_t kUsualRoom = std::uint64_t{1} << 20;

/// A buffer to launch with, with room for so many words of records.
std::vector<std::uint64_t> emptyBuffer(std::uint64_t room);

/// What a launch left in its buffer: writes the lines of its prints. False when an assert failed,
/// which is reported with its text and line. Blocks whose prints found no room are counted in a
/// warning.
bool tell(llvm::ArrayRef<std::uint64_t> buffer, const KernelInterface &interface, std::FILE *out,
          Diagnostics &diagnostics);

} // namespace imbrex::lower::observations
