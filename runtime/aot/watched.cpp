#include "runtime/aot/watched.h"

#include "runtime/aot/driver/ranges.h"

#include <cstdlib>
#include <new>
#include <string_view>

namespace imbrex::aot {
namespace {

constinit std::atomic<const Hook *> hookNow = nullptr;

/// Null where there are none, or nobody asked for them.
const driver::Ranges *wantedRanges() {
  static const driver::Ranges *const ranges = [] {
    const char *const asked = std::getenv("IMBREX_RANGES");
    const bool isAsked = asked != nullptr && std::string_view(asked) == "1";
    return isAsked ? driver::profilersRanges() : nullptr;
  }();
  return ranges;
}

void countWatchers() {
  const bool isAny = hookNow.load() != nullptr || wantedRanges() != nullptr;
  WatchedLaunch::watchers = isAny ? WatchedLaunch::Watchers::Some : WatchedLaunch::Watchers::None;
}

} // namespace

void WatchedLaunch::begin(const Kernel &kernel, const imbrex_stream &on) {
  if (watchers.load(std::memory_order_relaxed) == Watchers::Unknown) countWatchers();
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
  hookNow.store(next, std::memory_order_release);
  countWatchers();
}
