#include "runtime/launch_hook.h"

#include "backend/support/environment.h"
#include "backend/support/lifetime.h"
#include "runtime/aot/driver/ranges.h"

#include <mutex>
#include <utility>

namespace imbrex {
namespace {

constinit std::atomic<const launch_hook *> hookNow = nullptr;

constinit std::mutex setting; // of the hook, and of whether anybody watches

const driver::Ranges *wantedRanges() { return driver::profilersRanges(environment().ranges); }

} // namespace

void set_launch_hook(launch_hook hook) {
  const launch_hook *const next = hook ? &permanent(std::move(hook)) : nullptr;
  const std::scoped_lock lock(setting);
  hookNow.store(next, std::memory_order_release);
  runtime::HookedLaunch::isAnyWatched = next != nullptr || wantedRanges() != nullptr;
}

namespace runtime {

void beginToWatch() {
  if (wantedRanges() != nullptr) HookedLaunch::isAnyWatched = true;
}

void HookedLaunch::begin(const std::string &kernel) {
  hook_ = hookNow.load(std::memory_order_acquire);
  if (hook_ != nullptr) (*hook_)(seen_);
  if (const driver::Ranges *ranges = wantedRanges()) ranges->begin(kernel.c_str());
}

void HookedLaunch::end() {
  if (const driver::Ranges *ranges = wantedRanges()) ranges->end();
  if (hook_ == nullptr) return;
  if (seen_.moment == launch_moment::begins) seen_.moment = launch_moment::failed;
  (*hook_)(seen_);
}

} // namespace runtime
} // namespace imbrex
