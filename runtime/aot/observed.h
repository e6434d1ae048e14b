#pragma once

#include "backend/launching/observed_run.h"
#include "backend/package/choice/tables.h"
#include "runtime/aot/driver/gpu.h"

#include <atomic>
#include <cstdint>
#include <span>

/// Launches of kernels that print or assert.
namespace imbrex::aot {

inline std::span<const launching::ObservationSite> sitesOf(const SitesRow &row) {
  return {row.sites, static_cast<std::size_t>(row.count)};
}

/// On the processor; code calls imbrex_host_print and imbrex_host_fail with it.
struct ObservedHostRun : launching::ObservedRun {
  std::atomic<bool> isShort = false; ///< Of memory to say something.
};

/// IMBREX_ASSERTED
int failedAssert(const KernelRow &kernel, const SitesRow &sites,
                 const launching::observations::FailedAssert &failed);
/// IMBREX_NO_MEMORY
int noMemoryToTell(const KernelRow &kernel);

/// On a GPU, in a stream: the buffer in which the launch notes what it prints and asserts. It is
/// this launch's alone, and given back behind what is in the stream.
class ObservedLaunch {
public:
  ObservedLaunch(const KernelRow &kernel, const SitesRow &sites, const driver::Gpu &gpu,
                 void *stream)
      : kernel_(kernel), sites_(sites), gpu_(gpu), stream_(stream) {}
  ObservedLaunch(const ObservedLaunch &) = delete;
  ObservedLaunch &operator=(const ObservedLaunch &) = delete;
  ~ObservedLaunch() {
    if (address_ != 0) gpu_.releaseIn(stream_, address_, isPooled_);
  }

  /// Take the buffer, and clear its head. An imbrex_status: IMBREX_CAPTURED of a stream whose
  /// launches nobody waits for now, IMBREX_NO_MEMORY, or IMBREX_REFUSED.
  int prepare();
  /// Of the buffer, in the device's memory.
  std::uint64_t address() const { return address_; }
  /// Wait for the launch, and write the lines of its prints to standard output. An imbrex_status:
  /// IMBREX_ASSERTED where an assert failed, IMBREX_REFUSED with what broke down in the stream,
  /// IMBREX_NO_MEMORY. Prints for which there was no room are a warning in the log. Throws
  /// std::bad_alloc.
  int tell();

private:
  int refused(int error, const char *what) const;

  const KernelRow &kernel_;
  const SitesRow &sites_;
  const driver::Gpu &gpu_;
  void *stream_;
  std::uint64_t address_ = 0;
  bool isPooled_ = false;
};

} // namespace imbrex::aot
