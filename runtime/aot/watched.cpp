#include "runtime/aot/watched.h"

#include "runtime/aot/driver/ranges.h"

#include <cstdlib>
#include <mutex>
#include <new>
#include <string_view>

namespace imbrex::aot {
namespace {

constinit std::atomic<const Hook *> hookNow = nullptr;
constinit std::mutex setting; // of the hook, and of whether anybody watches

const driver::Ranges *wantedRanges() {
  static const bool areWanted = [] {
    const char *const asked = std::getenv("IMBREX_RANGES");
    return asked != nullptr && std::string_view(asked) == "1";
  }();
  return driver::profilersRanges(areWanted);
}

/// Under the lock.
void countWatchers() {
  const bool isAny = hookNow.load() != nullptr || wantedRanges() != nullptr;
  WatchedLaunch::watchers = isAny ? WatchedLaunch::Watchers::Some : WatchedLaunch::Watchers::None;
}

} // namespace

void WatchedLaunch::begin(const KernelRow &kernel, const imbrex_stream &on) {
  if (watchers.load(std::memory_order_relaxed) == Watchers::Unknown) {
    const std::scoped_lock lock(setting);
    countWatchers();
  }
  isWatched_ = true;
  hook_ = hookNow.load(std::memory_order_acquire);
  seen_ = {.kernel = kernel.name, .library = kernel.library, .on = on, .status = IMBREX_BEGINS};
  if (hook_ != nullptr) hook_->call(&seen_, hook_->own);
  if (const driver::Ranges *ranges = wantedRanges()) ranges->begin(kernel.name);
}

void WatchedLaunch::end() {
  if (const driver::Ranges *ranges = wantedRanges()) ranges->end();
  if (hook_ == nullptr) return;
  if (seen_.status == IMBREX_BEGINS) seen_.status = IMBREX_NO_MEMORY; // all that is ever thrown
  hook_->call(&seen_, hook_->own);
}

} // namespace imbrex::aot

void imbrex_set_launch_hook(imbrex_launch_hook *hook, void *own) {
  using namespace imbrex::aot;
  // One that was set before may be called still, and stays for good.
  const Hook *const next = hook != nullptr ? new (std::nothrow) Hook{hook, own} : nullptr;
  const std::scoped_lock lock(setting);
  hookNow.store(next, std::memory_order_release);
  countWatchers();
}
