#pragma once

#include "backend/package/choice/tables.h"
#include "imbrex/aot.h"

#include <atomic>

/// Who is told of launches: the program's hook, and profilers where IMBREX_RANGES asks for it.
namespace imbrex::aot {

/// What was set by imbrex_set_launch_hook.
struct Hook {
  imbrex_launch_hook *call;
  void *own;
};

/// Tells of a launch when it is made, and when it is told what became of it. Costs a look at one
/// flag where nobody wants to know.
class WatchedLaunch {
public:
  WatchedLaunch(const KernelRow &kernel, const imbrex_stream &on) {
    if (areSome()) begin(kernel, on);
  }
  /// Or may be.
  static bool areSome() { return watchers.load(std::memory_order_relaxed) != Watchers::None; }
  WatchedLaunch(const WatchedLaunch &) = delete;
  WatchedLaunch &operator=(const WatchedLaunch &) = delete;
  ~WatchedLaunch() {
    if (isWatched_) end();
  }

  /// The status, for the caller to return.
  int ended(int status) {
    if (isWatched_) seen_.status = status;
    return status;
  }

  /// What is known of them; nothing before the first launch.
  enum class Watchers : std::uint8_t { Unknown, None, Some };
  static inline constinit std::atomic<Watchers> watchers = Watchers::Unknown;

private:
  void begin(const KernelRow &kernel, const imbrex_stream &on);
  void end();

  imbrex_launch seen_;
  const Hook *hook_; ///< That was told of its beginning.
  bool isWatched_ = false;
};

} // namespace imbrex::aot
