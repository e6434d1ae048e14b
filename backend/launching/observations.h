#pragma once

#include "backend/launching/print_line.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// How prints and failed asserts reach the host from a GPU: through a buffer of 64-bit words that
/// every launch of a kernel with such ops is given. What is in it is decoded by whoever launched.
///
///   word 0   words of records that blocks have asked for, more than there is room for included
///   word 1   words that there is room for, set by the launcher
///   word 2   0, or 1 + the site of the assert that failed first
///   word 3   its block, x | y << 32     word 4: z     word 5: its element, row-major
///   from word kHeaderWords on: the records of prints, each
///     1 + the site, block x | y << 32, block z, then the bits of every element of every operand
///   and behind the last, if that is not the end, 0
namespace imbrex::launching::observations {

enum HeaderWord : std::uint64_t { kAsked, kRoom, kFailedSite, kFailedXy, kFailedZ, kFailedElement };
inline constexpr std::uint64_t kHeaderWords = 8;
inline constexpr std::uint64_t kRecordWords = 3; ///< In front of a record's elements.
/// Words of records that a launch has room for where nobody says otherwise.
inline constexpr std::uint64_t kUsualRoom = std::uint64_t{1} << 20;

/// What stands in front of the records. With it alone a launch may begin, whatever is behind it.
using Head = std::array<std::uint64_t, kHeaderWords>;
constexpr Head emptyHead(std::uint64_t room) {
  Head head{};
  head[kRoom] = room;
  return head;
}

/// What a launch left in a buffer with room for so many words, and no more of it: `copyOut(to, at,
/// count)` brings so many words, from the one at `at` on, or gives false, and this does so, too.
/// Throws std::bad_alloc.
template <class CopyOut>
bool fetch(std::uint64_t room, std::vector<std::uint64_t> &buffer, CopyOut copyOut) {
  buffer.resize(kHeaderWords);
  if (!copyOut(buffer.data(), std::uint64_t{0}, kHeaderWords)) return false;
  const std::uint64_t noted = std::min(buffer[kAsked], room);
  buffer.resize(kHeaderWords + noted);
  return noted == 0 || copyOut(&buffer[kHeaderWords], kHeaderWords, noted);
}

struct FailedAssert {
  std::size_t site;  ///< Its number.
  std::string where; ///< elementPlace
};

/// What became of a launch besides its lines.
struct Observed {
  std::uint64_t lostWords = 0; ///< Of records for which there was no room.
  std::optional<FailedAssert> failed = {};
};

/// Writes the lines of a launch's prints, in the order of blocks, each block's in the order of its
/// program. `buffer`: what the launch left in its own; behind the words that were asked for it may
/// end. Throws std::bad_alloc.
Observed tell(std::span<const std::uint64_t> buffer, std::span<const ObservationSite> sites,
              std::FILE *out);

} // namespace imbrex::launching::observations
