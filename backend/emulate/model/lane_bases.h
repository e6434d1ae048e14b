#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>

namespace imbrex::emulate {

/// Whether the lanes of a warp that come to a place together bring the same address.
///
/// Lanes run one after the other here. What they would do together is the n-th time that each of
/// them comes to the place since it last met others.
class LaneBases {
public:
  struct Visit {
    std::uint32_t warp, site;
    std::uint64_t meetings; ///< That the lane has had before.
    std::uint32_t lane;
    std::uint64_t base;
  };
  /// A lane that came along and brought another address.
  std::optional<std::uint32_t> differing(const Visit &visit);

private:
  struct Place {
    std::uint32_t warp, site;
    auto operator<=>(const Place &) const = default;
  };
  struct Visits {
    std::uint64_t meetings = 0;
    std::uint32_t count = 0;
  };
  struct VisitKey {
    std::uint64_t meetings;
    std::uint32_t visit;
    auto operator<=>(const VisitKey &) const = default;
  };
  struct FirstBase {
    std::uint32_t lane;
    std::uint64_t base;
  };
  struct Record {
    std::map<std::uint32_t, Visits> lanes;
    std::map<VisitKey, FirstBase> turns;
  };
  std::map<Place, Record> places_;
};

} // namespace imbrex::emulate
