#pragma once

#include "backend/emulate/model/site.h"
#include "backend/emulate/model/thread_block.h"
#include "backend/ir/argument.h"
#include "backend/support/diagnostics.h"

#include <set>
#include <string>
#include <tuple>

namespace imbrex::emulate {

/// What a run has to say, each thing once for each pair of source lines.
class RunReport {
public:
  RunReport(const SiteTable &sites, const ir::Grid &grid, std::uint32_t warpSize,
            Diagnostics &diagnostics)
      : sites_(sites), grid_(grid), warpSize_(warpSize), diagnostics_(diagnostics) {}

  const Site &site(std::uint32_t number) const { return sites_[number]; }
  bool hasErrors() const { return !told_.empty(); }

  template <class... Args>
  void error(Diag kind, std::uint32_t site, std::uint32_t otherSite, const Args &...arguments) {
    if (isNew(kind, site, otherSite)) diagnostics_.report(kind, sites_[site].where, arguments...);
  }

  /// The same of a thread at the first of the sites: it says before the rest what is done there,
  /// and which thread it is.
  template <class... Args>
  void errorOf(const Thread &thread, Diag kind, std::uint32_t site, std::uint32_t otherSite,
               const Args &...arguments) {
    error(kind, site, otherSite, sites_[site].what, text(thread.order.id()), arguments...);
  }

  /// `thread 37 (lane 5 of warp 1) of block [0, 0, 0]`
  std::string text(ThreadId id) const;
  /// `waits in 'barrier' at kernel.cpp:12`, `has exited at …`
  std::string stateText(const Thread &thread) const;

private:
  /// Whoever has made this many mistakes has made one.
  static constexpr std::size_t kMost = 20;

  bool isNew(Diag kind, std::uint32_t site, std::uint32_t otherSite);

  const SiteTable &sites_;
  ir::Grid grid_;
  std::uint32_t warpSize_;
  Diagnostics &diagnostics_;
  std::set<std::tuple<Diag, std::string, std::string>> told_;
};

/// The index of a block in the grid; x runs fastest.
std::array<std::int32_t, 3> blockIndex(const ir::Grid &grid, std::uint32_t number);

} // namespace imbrex::emulate
