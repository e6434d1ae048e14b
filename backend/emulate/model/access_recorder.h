#pragma once

#include "backend/emulate/model/counters.h"
#include "backend/emulate/model/site.h"
#include "backend/emulate/model/thread_block.h"

#include <map>

namespace imbrex::emulate {

/// Gathers the accesses of lanes into the requests of warps, and counts what these cost.
///
/// Lanes run one after the other here; what they would ask for together is the n-th time that each
/// of them comes to a place.
class AccessRecorder {
public:
  AccessRecorder(const SiteTable &sites, std::uint32_t warpSize, std::uint32_t banks)
      : sites_(sites), warpSize_(warpSize), banks_(banks) {}

  void touch(const Thread &thread, std::uint32_t site, std::uint64_t address, bool isShared);
  /// Nothing more comes from this block.
  void leave(const ThreadBlock &block);
  std::vector<AccessCounters> take();

private:
  struct Request {
    std::uint64_t lanes = 0;
    std::array<std::uint64_t, kMostLanes> addresses{};
  };
  /// The requests of one warp at one place, and how often each lane has come there.
  struct Visits {
    bool isShared = false;
    std::vector<Request> requests;
    std::array<std::uint32_t, kMostLanes> count{};
  };
  struct WarpPlace {
    std::uint32_t block, warp, site;
    auto operator<=>(const WarpPlace &) const = default;
  };

  void count(std::uint32_t site, const Request &request, bool isShared);
  void countGlobal(AccessCounters &counters, const Request &request) const;
  void countShared(AccessCounters &counters, const Request &request) const;

  const SiteTable &sites_;
  std::uint32_t warpSize_, banks_;
  std::map<WarpPlace, Visits> visits_;
  std::map<std::uint32_t, AccessCounters> bySite_;
};

} // namespace imbrex::emulate
