#pragma once

#include "imbrex/launch_hook.hpp"

#include <atomic>

/// Who is told of launches: the program's hook, and profilers where IMBREX_RANGES asks for it.
namespace imbrex::runtime {

/// Read the environment, once; before the first launch.
void beginToWatch();

/// Tells of a launch when it is made, and when it is told what became of it. Costs a look at one
/// flag where nobody wants to know.
class HookedLaunch {
public:
  HookedLaunch(const std::string &kernel, const stream_ref &in)
      : seen_{.kernel = kernel, .in = in, .moment = launch_moment::begins}, isWatched_(areSome()) {
    if (isWatched_) begin(kernel);
  }
  HookedLaunch(const HookedLaunch &) = delete;
  HookedLaunch &operator=(const HookedLaunch &) = delete;
  ~HookedLaunch() {
    if (isWatched_) end();
  }

  /// Somebody wants to know of launches.
  static bool areSome() { return isAnyWatched.load(std::memory_order_relaxed); }

  void isDone() { seen_.moment = launch_moment::done; }

private:
  friend void beginToWatch();
  friend void imbrex::set_launch_hook(launch_hook hook);
  static inline constinit std::atomic<bool> isAnyWatched = false;

  void begin(const std::string &kernel);
  void end();

  seen_launch seen_;
  bool isWatched_;
  const launch_hook *hook_ = nullptr; ///< That was told of its beginning.
};

} // namespace imbrex::runtime
