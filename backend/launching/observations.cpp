#include "backend/launching/observations.h"

#include <algorithm>
#include <vector>

namespace imbrex::launching::observations {
namespace {

using Words = std::span<const std::uint64_t>;
using Sites = std::span<const ObservationSite>;

BlockIndex blockOf(std::uint64_t xy, std::uint64_t z) {
  constexpr int kHalf = 32;
  return {static_cast<std::int32_t>(xy), static_cast<std::int32_t>(xy >> kHalf),
          static_cast<std::int32_t>(z)};
}

std::uint64_t wordsOf(const ObservationSite &site) {
  std::uint64_t words = kRecordWords;
  for (const ObservedTile &tile : tilesOf(site))
    words += static_cast<std::uint64_t>(elementsOf(tile));
  return words;
}

/// Whether the words begin with a whole record. A device wrote them: nothing else is certain.
bool isRecord(Words words, Sites sites) {
  if (words.empty() || words[0] == 0 || words[0] > sites.size()) return false;
  return words.size() >= wordsOf(sites[words[0] - 1]);
}

struct Line {
  BlockIndex block;
  std::string text;
};

/// The record at the front of `words`; its length.
std::uint64_t readRecord(Words words, Sites sites, std::vector<Line> &into) {
  const ObservationSite &site = sites[words[0] - 1];
  std::vector<PrintedTile> tiles;
  Words rest = words.subspan(kRecordWords);
  for (const ObservedTile &tile : tilesOf(site)) {
    const auto count = static_cast<std::size_t>(elementsOf(tile));
    tiles.push_back({tile, rest.first(count)});
    rest = rest.subspan(count);
  }
  const BlockIndex block = blockOf(words[1], words[2]);
  into.push_back({block, printLine(block, site.text, tiles)});
  return wordsOf(site);
}

} // namespace

Observed tell(std::span<const std::uint64_t> buffer, std::span<const ObservationSite> sites,
              std::FILE *out) {
  const std::uint64_t asked = buffer[kAsked], room = buffer[kRoom];
  // A block that asks for more than is left gets none, and so do all that come after it.
  const Words records = buffer.subspan(kHeaderWords);
  std::vector<Line> lines;
  std::uint64_t told = 0;
  while (told < std::min<std::uint64_t>({asked, room, records.size()})) {
    if (!isRecord(records.subspan(told), sites)) break;
    told += readRecord(records.subspan(told), sites, lines);
  }
  // Each block's in the order of its program; blocks run in any.
  std::ranges::stable_sort(lines, {}, [](const Line &line) {
    return std::array{line.block[2], line.block[1], line.block[0]};
  });
  for (const Line &line : lines) std::fputs((line.text + "\n").c_str(), out);
  Observed observed{.lostWords = told < asked ? asked - told : 0};
  const std::uint64_t failed = buffer[kFailedSite];
  if (failed == 0 || failed > sites.size()) return observed;
  const ObservedTile &conditions = sites[failed - 1].tiles[0];
  observed.failed = {.site = failed - 1,
                     .where = elementPlace(extentsOf(conditions),
                                           static_cast<std::int64_t>(buffer[kFailedElement]),
                                           blockOf(buffer[kFailedXy], buffer[kFailedZ]))};
  return observed;
}

} // namespace imbrex::launching::observations
