#include "backend/emulate/model/lane_bases.h"

namespace imbrex::emulate {

std::optional<std::uint32_t> LaneBases::differing(const Visit &visit) {
  Record &record = places_[{visit.warp, visit.site}];
  Visits &visits = record.lanes[visit.lane];
  if (visits.meetings != visit.meetings) visits = {visit.meetings, 0};
  // No lane is left behind by more than the meeting that it waits in.
  while (!record.turns.empty() && record.turns.begin()->first.meetings + 1 < visit.meetings)
    record.turns.erase(record.turns.begin());
  const auto [turn, isFirst] =
      record.turns.try_emplace({visit.meetings, visits.count++}, FirstBase{visit.lane, visit.base});
  if (isFirst || turn->second.base == visit.base) return std::nullopt;
  return turn->second.lane;
}

} // namespace imbrex::emulate
