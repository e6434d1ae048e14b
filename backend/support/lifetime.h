#pragma once

#include <utility>

/// Objects for what a launch reaches. One may come as late as from the destructor of a static, of
/// an object of a thread, or from a function of atexit, when plain statics and thread_locals have
/// gone; a test finds those (tests/support/late_destructors_test.py).
namespace imbrex {

/// An object that is never destroyed: `static const auto &table = permanent(makeTable());`.
template <class T>
T &permanent(T value) {
  return *new T(std::move(value));
}

/// Each thread's own T. One that is made after the thread's own has gone stays for good.
template <class T>
T &threadOwned() {
  constinit static thread_local T *own = nullptr; // is there to the very end
  if (own == nullptr) {
    own = new T;
    struct End {
      ~End() { delete std::exchange(own, nullptr); }
    };
    static thread_local const End end;
    static_cast<void>(end);
  }
  return *own;
}

} // namespace imbrex
