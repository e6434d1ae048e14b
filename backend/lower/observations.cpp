#include "backend/lower/observations.h"

#include "backend/ir/print_line.h"

#include <algorithm>
#include <array>

namespace imbrex::lower::observations {
namespace {

using Block = std::array<std::int32_t, 3>;

Block blockOf(std::uint64_t xy, std::uint64_t z) {
  constexpr int kHalf = 32;
  return {static_cast<std::int32_t>(xy), static_cast<std::int32_t>(xy >> kHalf),
          static_cast<std::int32_t>(z)};
}

std::uint64_t elementsOf(const ObservationSite &site) {
  std::uint64_t elements = 0;
  for (const ir::Type &type : site.types)
    elements += static_cast<std::uint64_t>(type.shape().elements());
  return elements;
}

/// Whether the words begin with a whole record. A device wrote them: nothing else is certain.
bool isRecord(llvm::ArrayRef<std::uint64_t> words, const KernelInterface &interface) {
  if (words[0] == 0 || words[0] > interface.sites.size()) return false;
  return words.size() >= kRecordWords + elementsOf(interface.sites[words[0] - 1]);
}

struct Line {
  Block block;
  std::string text;
};

/// The record at the front of `words`; its length.
std::uint64_t readRecord(llvm::ArrayRef<std::uint64_t> words, const KernelInterface &interface,
                         std::vector<Line> &into) {
  const ObservationSite &site = interface.sites[words[0] - 1];
  std::vector<ir::PrintedTile> tiles;
  llvm::ArrayRef<std::uint64_t> rest = words.drop_front(kRecordWords);
  for (const ir::Type &type : site.types) {
    const auto count = static_cast<std::size_t>(type.shape().elements());
    tiles.push_back({type, rest.take_front(count)});
    rest = rest.drop_front(count);
  }
  const Block block = blockOf(words[1], words[2]);
  into.push_back({block, ir::printLine(block, site.op->attrs<ir::TextAttrs>().text, tiles)});
  return kRecordWords + elementsOf(site);
}

} // namespace

std::vector<std::uint64_t> emptyBuffer(std::uint64_t room) {
  std::vector<std::uint64_t> buffer(kHeaderWords + room, 0);
  buffer[kRoom] = room;
  return buffer;
}

bool tell(llvm::ArrayRef<std::uint64_t> buffer, const KernelInterface &interface, std::FILE *out,
          Diagnostics &diagnostics) {
  const std::uint64_t asked = buffer[kAsked], room = buffer[kRoom];
  // A block that asks for more than is left gets none, and so do all that come after it.
  llvm::ArrayRef<std::uint64_t> records = buffer.drop_front(kHeaderWords);
  std::vector<Line> lines;
  std::uint64_t told = 0;
  while (told < asked) {
    if (told >= room || !isRecord(records.drop_front(told), interface)) break;
    told += readRecord(records.drop_front(told), interface, lines);
  }
  // Each block's in the order of its program; blocks run in any.
  std::ranges::stable_sort(lines, {}, [](const Line &line) {
    return std::array{line.block[2], line.block[1], line.block[0]};
  });
  for (const Line &line : lines) std::fputs((line.text + "\n").c_str(), out);
  if (told < asked) diagnostics.report(Diag::PrintsLost, {}, interface.name, asked - told, room);
  const std::uint64_t failed = buffer[kFailedSite];
  if (failed == 0 || failed > interface.sites.size()) return true;
  const ObservationSite &site = interface.sites[failed - 1];
  const auto element = static_cast<std::int64_t>(buffer[kFailedElement]);
  diagnostics.report(Diag::AssertFailed, site.op->where, site.op->attrs<ir::TextAttrs>().text,
                     ir::elementPlace(site.types[0].shape(), element,
                                      blockOf(buffer[kFailedXy], buffer[kFailedZ])));
  return false;
}

} // namespace imbrex::lower::observations
