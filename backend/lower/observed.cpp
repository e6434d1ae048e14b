#include "backend/lower/observed.h"

#include "backend/ir/print_line.h"

#include <algorithm>
#include <array>

namespace imbrex::lower {

using namespace observations;

/// A print's record.
struct Observed::Printed {
  const Site *site;
  std::array<std::int32_t, 3> block;
  const std::uint64_t *elements;
};

namespace {

std::array<std::int32_t, 3> blockOf(std::uint64_t xy, std::uint64_t z) {
  constexpr int kHalf = 32;
  return {static_cast<std::int32_t>(xy & 0xffffffff), static_cast<std::int32_t>(xy >> kHalf),
          static_cast<std::int32_t>(z)};
}

std::uint64_t elementCount(const Site &site) {
  std::uint64_t count = 0;
  for (const ir::Type &type : site.types)
    count += static_cast<std::uint64_t>(type.shape().elements());
  return count;
}

std::string lineOf(const Site &site, const std::array<std::int32_t, 3> &block,
                   const std::uint64_t *elements) {
  std::vector<ir::PrintedTile> tiles;
  for (const ir::Type &type : site.types) {
    const auto count = static_cast<std::size_t>(type.shape().elements());
    tiles.push_back({type, {elements, count}});
    elements += count;
  }
  return ir::printLine(block, site.op->attrs<ir::TextAttrs>().text, tiles) + "\n";
}

/// `at tile index [3] of block [0, 0, 0]`
std::string placeText(const ir::Shape &shape, std::uint64_t element,
                      const std::array<std::int32_t, 3> &block) {
  std::string index;
  for (std::int32_t axis = shape.rank(); axis-- > 0;) {
    const auto extent = static_cast<std::uint64_t>(shape[axis]);
    index = std::to_string(element % extent) + (index.empty() ? "" : ", ") + index;
    element /= extent;
  }
  const std::string place = "block [" + std::to_string(block[0]) + ", " +
                            std::to_string(block[1]) + ", " + std::to_string(block[2]) + "]";
  return shape.rank() == 0 ? "in " + place : "at tile index [" + index + "] of " + place;
}

} // namespace

Observed::Observed(std::uint64_t room)
    : room_(room), words_(new std::uint64_t[room + kHeaderWords]) {
  std::fill_n(words_.get(), kHeaderWords, 0);
  words_[kRoom] = room;
}

std::vector<Observed::Printed> Observed::printed(const KernelInterface &interface) const {
  std::vector<Printed> all;
  const std::uint64_t end = std::min(words_[kAsked], room_);
  for (std::uint64_t at = 0; at + kRecordWords <= end;) {
    const std::uint64_t *record = &words_[kHeaderWords + at];
    const Site &site = interface.sites[record[0]];
    const std::uint64_t next = at + kRecordWords + elementCount(site);
    if (next > end) break; // the first that found no room
    all.push_back({&site, blockOf(record[1], record[2]), record + kRecordWords});
    at = next;
  }
  return all;
}

void Observed::tell(const KernelInterface &interface,
                    const std::function<void(std::string_view)> &print,
                    Diagnostics &diagnostics) const {
  std::vector<Printed> all = printed(interface);
  // A block prints in its program's order; blocks come in any.
  const auto inGrid = [](const Printed &p) { return std::array{p.block[2], p.block[1], p.block[0]}; };
  std::ranges::stable_sort(all, {}, inGrid);
  for (const Printed &p : all) print(lineOf(*p.site, p.block, p.elements));
  if (words_[kAsked] > room_)
    diagnostics.report(Diag::PrintsLost, {}, interface.name, words_[kAsked], room_);
  if (words_[kFailedSite] == 0) return;
  const Site &failed = interface.sites[words_[kFailedSite] - 1];
  diagnostics.report(Diag::AssertFailed, failed.op->where,
                     failed.op->attrs<ir::TextAttrs>().text,
                     placeText(failed.types[0].shape(), words_[kFailedElement],
                               blockOf(words_[kFailedXy], words_[kFailedZ])));
}

} // namespace imbrex::lower
