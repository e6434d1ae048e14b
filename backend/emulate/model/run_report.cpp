#include "backend/emulate/model/run_report.h"

#include "backend/support/check.h"

namespace imbrex::emulate {

std::array<std::int32_t, 3> blockIndex(const ir::Grid &grid, std::uint32_t number) {
  const auto x = static_cast<std::uint32_t>(grid.extents[0]);
  const auto y = static_cast<std::uint32_t>(grid.extents[1]);
  return {static_cast<std::int32_t>(number % x), static_cast<std::int32_t>(number / x % y),
          static_cast<std::int32_t>(number / x / y)};
}

/// Instructions of one line, as of an unrolled loop, make one mistake; without lines each its own.
bool RunReport::isNew(Diag kind, std::uint32_t site, std::uint32_t otherSite) {
  const auto place = [this](std::uint32_t number) {
    const Location &where = sites_[number].where;
    return where.known() ? toText(where) : std::to_string(number);
  };
  return told_.size() < kMost && told_.emplace(kind, place(site), place(otherSite)).second;
}

std::string RunReport::text(ThreadId id) const {
  const std::array<std::int32_t, 3> block = blockIndex(grid_, id.block);
  return "thread " + std::to_string(id.thread) + " (lane " + std::to_string(id.thread % warpSize_) +
         " of warp " + std::to_string(id.thread / warpSize_) + ") of block [" +
         std::to_string(block[0]) + ", " + std::to_string(block[1]) + ", " +
         std::to_string(block[2]) + "]";
}

std::string RunReport::stateText(const Thread &thread) const {
  const Site &site = sites_[thread.site];
  switch (thread.state) {
  case ThreadState::Exited: return "has exited at " + toText(site.where);
  case ThreadState::AtWarpCall:
  case ThreadState::AtMeeting:
  case ThreadState::AtPhase: return "waits in '" + site.what + "' at " + toText(site.where);
  case ThreadState::Runnable: return "was last at " + toText(site.where);
  }
  IMBREX_UNREACHABLE("thread state");
}

} // namespace imbrex::emulate
