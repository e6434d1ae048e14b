#include "runtime/aot/observed.h"

#include "backend/support/float_state.h"
#include "runtime/aot/error.h"
#include "runtime/aot/log.h"

#include <cstdio>
#include <vector>

namespace imbrex::aot {
namespace {

namespace observations = launching::observations;

constexpr std::int64_t bytesOf(std::uint64_t words) {
  return static_cast<std::int64_t>(words * sizeof(std::uint64_t));
}

} // namespace

int failedAssert(const KernelRow &kernel, const SitesRow &sites,
                 const observations::FailedAssert &failed) {
  const launching::ObservationSite &site = sites.sites[failed.site];
  return fail(IMBREX_ASSERTED, "%s: '%s': assertion failed %s: %s", site.place, kernel.name,
              failed.where.c_str(), site.text);
}

int noMemoryToTell(const KernelRow &kernel) {
  return fail(IMBREX_NO_MEMORY, "there is no memory to tell what '%s' prints and asserts",
              kernel.name);
}

int ObservedLaunch::refused(int error, const char *what) const {
  const imbrex_status kind = error == driver::kOutOfMemory ? IMBREX_NO_MEMORY : IMBREX_REFUSED;
  return fail(kind, "%s can't %s '%s' prints and asserts: %s", gpu_.description().c_str(), what,
              kernel_.name, gpu_.textOf(error).c_str());
}

int ObservedLaunch::prepare() {
  if (gpu_.isCapturing(stream_))
    return fail(IMBREX_CAPTURED,
                "'%s' prints or asserts, for which a launch is waited, and the stream is being "
                "captured on %s; launch it in another stream",
                kernel_.name, gpu_.description().c_str());
  const auto room = static_cast<std::uint64_t>(sites_.room);
  const std::int64_t bytes = bytesOf(observations::kHeaderWords + room);
  if (const int error = gpu_.allocateIn(stream_, bytes, address_, isPooled_); error != 0)
    return address_ = 0, refused(error, "allocate memory for what");
  const observations::Head head = observations::emptyHead(room);
  const int error = gpu_.copyIn(address_, head.data(), sizeof head, stream_);
  return error == 0 ? IMBREX_OK : refused(error, "clear memory for what");
}

int ObservedLaunch::tell() {
  const DefaultFloatState state;
  std::vector<std::uint64_t> buffer;
  int error = 0;
  const auto copyOut = [&](std::uint64_t *to, std::uint64_t at, std::uint64_t count) {
    error = gpu_.copyOut(to, address_ + at * sizeof *to, bytesOf(count), stream_);
    return error == 0;
  };
  if (!observations::fetch(static_cast<std::uint64_t>(sites_.room), buffer, copyOut))
    return refused(error, "tell what");
  const auto observed = observations::tell(buffer, sitesOf(sites_), stdout);
  if (observed.lostWords != 0)
    log(LogLevel::Warn, "launch",
        "prints of kernel '%s' are lost: there is room for %llu words of them, and %llu are too "
        "many; print smaller tiles, or from fewer blocks",
        kernel_.name, static_cast<unsigned long long>(buffer[observations::kRoom]),
        static_cast<unsigned long long>(observed.lostWords));
  return observed.failed ? failedAssert(kernel_, sites_, *observed.failed) : IMBREX_OK;
}

} // namespace imbrex::aot
