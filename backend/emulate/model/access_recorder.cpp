#include "backend/emulate/model/access_recorder.h"

#include "backend/layout/bank_conflicts.h"

#include <algorithm>
#include <bit>
#include <set>

namespace imbrex::emulate {
namespace {

using layout::kBankBytes;

// NVIDIA: CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory": 32-byte transactions
// of 128-byte lines. AMD: 64- and 128-byte lines; the same pieces are counted, to compare.
constexpr std::uint64_t kSectorBytes = 32, kLineBytes = 128;

template <class Function>
void forEachLane(std::uint64_t lanes, Function &&function) {
  for (; lanes != 0; lanes &= lanes - 1)
    function(static_cast<std::uint32_t>(std::countr_zero(lanes)));
}

/// Pieces of memory that the lanes of a request touch.
std::set<std::uint64_t> piecesOf(const auto &request, std::uint32_t bytes, std::uint64_t piece) {
  std::set<std::uint64_t> pieces;
  forEachLane(request.lanes, [&](std::uint32_t lane) {
    const std::uint64_t first = request.addresses[lane];
    for (std::uint64_t p = first / piece; p <= (first + bytes - 1) / piece; ++p) pieces.insert(p);
  });
  return pieces;
}

} // namespace

void AccessRecorder::touch(const Thread &thread, std::uint32_t site, std::uint64_t address,
                           bool isShared) {
  Visits &visits = visits_[{thread.block->number, thread.warp, site}];
  visits.isShared = isShared;
  const std::uint32_t visit = visits.count[thread.lane]++;
  if (visit >= visits.requests.size()) visits.requests.resize(visit + 1);
  Request &request = visits.requests[visit];
  request.lanes |= std::uint64_t{1} << thread.lane;
  request.addresses[thread.lane] = address;
}

void AccessRecorder::leave(const ThreadBlock &block) {
  const auto first = visits_.lower_bound({block.number, 0, 0});
  const auto last = visits_.lower_bound({block.number + 1, 0, 0});
  for (auto visit = first; visit != last; ++visit)
    for (const Request &request : visit->second.requests)
      count(visit->first.site, request, visit->second.isShared);
  visits_.erase(first, last);
}

void AccessRecorder::count(std::uint32_t site, const Request &request, bool isShared) {
  AccessCounters &counters = bySite_[site];
  const Site &at = sites_[site];
  counters.where = at.where;
  counters.what = at.what;
  counters.isShared = isShared;
  const auto *copy = std::get_if<CopySite>(&at.facts);
  counters.bytesPerLane = (copy != nullptr ? copy->from : std::get<AccessSite>(at.facts)).bytes;
  ++counters.requests;
  counters.lanes += static_cast<std::uint64_t>(std::popcount(request.lanes));
  if (isShared)
    countShared(counters, request);
  else
    countGlobal(counters, request);
}

void AccessRecorder::countGlobal(AccessCounters &counters, const Request &request) const {
  const std::uint32_t bytes = counters.bytesPerLane;
  counters.sectors += piecesOf(request, bytes, kSectorBytes).size();
  counters.lines += piecesOf(request, bytes, kLineBytes).size();
  const std::uint64_t wanted = piecesOf(request, bytes, 1).size();
  counters.leastSectors += (wanted + kSectorBytes - 1) / kSectorBytes;
}

/// Lanes are served as many at a time as fill every bank once; a bank serves one word at a time, to
/// any number of lanes.
void AccessRecorder::countShared(AccessCounters &counters, const Request &request) const {
  const std::uint64_t words = std::max<std::uint64_t>(1, counters.bytesPerLane / kBankBytes);
  const auto together = std::min<std::uint64_t>(warpSize_, banks_ / words);
  for (std::uint32_t first = 0; first < warpSize_; first += static_cast<std::uint32_t>(together)) {
    std::uint64_t lanes = request.lanes >> first;
    if (together < 64) lanes &= (std::uint64_t{1} << together) - 1;
    if (lanes == 0) continue;
    const Request part{.lanes = lanes << first, .addresses = request.addresses};
    std::vector<std::uint64_t> wordsOfBank(banks_);
    for (const std::uint64_t word : piecesOf(part, counters.bytesPerLane, kBankBytes))
      ++wordsOfBank[word % banks_];
    counters.cycles += *std::ranges::max_element(wordsOfBank);
    ++counters.leastCycles;
  }
}

std::vector<AccessCounters> AccessRecorder::take() {
  std::vector<AccessCounters> all;
  for (auto &[site, counters] : bySite_) all.push_back(std::move(counters));
  const auto place = [](const AccessCounters &c) { return std::pair(c.where.file, c.where.line); };
  std::ranges::stable_sort(all, {}, place);
  return all;
}

} // namespace imbrex::emulate
