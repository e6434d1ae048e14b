#pragma once

#include <cstring>

namespace imbrex::driver {

/// A value whose bytes lie there, whatever they are of.
template <class T>
T readAs(const void *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

} // namespace imbrex::driver
