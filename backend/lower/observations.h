#pragma once

#include "backend/launching/observations.h"
#include "backend/lower/kernel_interface.h"
#include "backend/support/diagnostics.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

/// What a compiled kernel prints and asserts, for what is told of it without the IR
/// (backend/launching/observations.h).
namespace imbrex::lower::observations {

using namespace launching::observations;

/// A buffer to launch with, with room for so many words of records.
std::vector<std::uint64_t> emptyBuffer(std::uint64_t room);

/// A kernel's sites for as long as the kernel is there.
class SiteTable {
public:
  /// `elementBytes`: in which an element of a type is noted.
  SiteTable(llvm::ArrayRef<ObservationSite> sites, std::int64_t (*elementBytes)(const ir::Type &));

  std::span<const launching::ObservationSite> all() const { return sites_; }

private:
  std::vector<std::vector<launching::ObservedTile>> tiles_;
  std::vector<launching::ObservationSite> sites_;
};

/// Of records.
inline std::int64_t wordBytes(const ir::Type & /*any*/) { return sizeof(std::uint64_t); }

/// The error of an assert, of which `failed` says where.
void reportFailed(const ObservationSite &site, const FailedAssert &failed,
                  Diagnostics &diagnostics);

/// What a launch left in its buffer: writes the lines of its prints. False when an assert failed,
/// which is reported with its text and line. Blocks whose prints found no room are counted in a
/// warning.
bool tell(llvm::ArrayRef<std::uint64_t> buffer, const KernelInterface &interface, std::FILE *out,
          Diagnostics &diagnostics);

} // namespace imbrex::lower::observations
