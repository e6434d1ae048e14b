#pragma once

#include <cstddef>

namespace bench {

/// Make the primary context of the first device of a driver like NVIDIA's current, as it is where
/// launches are written by hand.
void makeContextCurrent(const char *driver);

/// A launch as one would write it against CUDA's driver by hand: a kernel of so many pointers,
/// 64-bit and 32-bit numbers that does nothing, its arguments in place. Not there where the driver
/// is not.
class DriverLaunch {
public:
  DriverLaunch(int wide, int narrow, void *stream);
  bool isThere() const { return function_ != nullptr; }
  void operator()();

private:
  static constexpr std::size_t kMost = 32;

  int (*launch_)(void *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                 unsigned blockY, unsigned blockZ, unsigned sharedBytes, void *stream,
                 void **parameters, void **extra) = nullptr;
  void *function_ = nullptr;
  void *stream_;
  unsigned long long values_[kMost] = {};
  void *parameters_[kMost] = {};
};

} // namespace bench
