#include "backend/lower/observations.h"

#include "backend/ir/observed_tile.h"

#include <algorithm>

namespace imbrex::lower::observations {

std::vector<std::uint64_t> emptyBuffer(std::uint64_t room) {
  std::vector<std::uint64_t> buffer(kHeaderWords + room, 0);
  std::ranges::copy(emptyHead(room), buffer.begin());
  return buffer;
}

SiteTable::SiteTable(llvm::ArrayRef<ObservationSite> sites,
                     std::int64_t (*elementBytes)(const ir::Type &)) {
  for (const ObservationSite &site : sites) {
    std::vector<launching::ObservedTile> &tiles = tiles_.emplace_back();
    for (const ir::Type &type : site.types)
      tiles.push_back(ir::observedTile(type, elementBytes(type)));
    sites_.push_back({.text = site.op->attrs<ir::TextAttrs>().text.c_str(),
                      .place = nullptr,
                      .tiles = tiles.data(),
                      .tileCount = std::ssize(tiles)});
  }
}

void reportFailed(const ObservationSite &site, const FailedAssert &failed,
                  Diagnostics &diagnostics) {
  diagnostics.report(Diag::AssertFailed, site.op->where, site.op->attrs<ir::TextAttrs>().text,
                     failed.where);
}

bool tell(llvm::ArrayRef<std::uint64_t> buffer, const KernelInterface &interface, std::FILE *out,
          Diagnostics &diagnostics) {
  const SiteTable sites(interface.sites, wordBytes);
  const Observed observed = launching::observations::tell(buffer, sites.all(), out);
  if (observed.lostWords != 0)
    diagnostics.report(Diag::PrintsLost, {}, interface.name, observed.lostWords, buffer[kRoom]);
  if (!observed.failed) return true;
  reportFailed(interface.sites[observed.failed->site], *observed.failed, diagnostics);
  return false;
}

} // namespace imbrex::lower::observations
