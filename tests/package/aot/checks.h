#pragma once

#include <imbrex/aot.hpp>

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

/// What tests of a library's launches share, whatever device they are on.
namespace imbrex::aot_tests {

using aot::array;
using aot::device_buffer;
using aot::memory;
using aot::status;
using aot::stream_ref;

inline void check(const aot::status &came) {
  CHECK_MESSAGE(came.ok(), std::string(came.message()));
}

inline void checkRefused(const aot::status &came, imbrex_status code, const std::string &text) {
  CHECK(came.code() == code);
  CHECK(std::string(came.message()) == text);
}

template <class T>
std::vector<T> random(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<float> values(-2, 2);
  std::vector<T> made;
  for (std::size_t i = 0; i < size; ++i) made.push_back(T(values(generator)));
  return made;
}

template <class T>
device_buffer<T> on(const stream_ref &stream, const std::vector<T> &values) {
  device_buffer<T> made;
  const status came = made.make(stream, values);
  REQUIRE_MESSAGE(came.ok(), std::string(came.message()));
  return made;
}

template <class T>
std::vector<T> contentOf(const device_buffer<T> &buffer) {
  std::vector<T> content(static_cast<std::size_t>(buffer.size()));
  REQUIRE(buffer.copy_to(content).ok());
  return content;
}

} // namespace imbrex::aot_tests
