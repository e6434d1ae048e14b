#include "backend/launching/observed_run.h"

#include <cstdio>
#include <cstring>
#include <vector>

namespace imbrex::launching {
namespace {

std::vector<std::uint64_t> bitsOf(const ObservedTile &tile, const void *data) {
  const auto bytes = static_cast<std::size_t>(tile.elementBytes);
  std::vector<std::uint64_t> bits(static_cast<std::size_t>(elementsOf(tile)));
  for (std::size_t i = 0; i < bits.size(); ++i)
    std::memcpy(&bits[i], static_cast<const std::byte *>(data) + i * bytes, bytes);
  return bits;
}

} // namespace

void printFromCode(const ObservedRun &run, std::uint32_t site, const BlockIndex &block,
                   const void *const *operands) {
  const ObservationSite &printed = run.sites[site];
  std::vector<std::vector<std::uint64_t>> bits;
  std::vector<PrintedTile> tiles;
  for (const ObservedTile &tile : tilesOf(printed))
    bits.push_back(bitsOf(tile, operands[bits.size()]));
  for (std::size_t i = 0; i < bits.size(); ++i) tiles.push_back({tilesOf(printed)[i], bits[i]});
  std::fputs((printLine(block, printed.text, tiles) + "\n").c_str(), stdout);
}

void failFromCode(ObservedRun &run, std::uint32_t site, const BlockIndex &block,
                  std::int64_t element) {
  const std::lock_guard lock(run.mutex);
  if (run.isStopped.exchange(true)) return; // one message is enough
  run.failed = {.site = site,
                .where = elementPlace(extentsOf(run.sites[site].tiles[0]), element, block)};
}

} // namespace imbrex::launching
