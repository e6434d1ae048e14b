#pragma once

#include <functional>
#include <thread>

namespace imbrex::testing {

/// Run the one in a thread, and the other while that thread's objects are destroyed: behind those
/// that the one was the first to use.
inline void inEndingThread(const std::function<void()> &first, const std::function<void()> &late) {
  struct Late {
    const std::function<void()> *action = nullptr;
    ~Late() { (*action)(); }
  };
  std::thread([&] {
    static thread_local Late end;
    end.action = &late;
    first();
  }).join();
}

} // namespace imbrex::testing
