#pragma once

#include "app.hpp"
#include "tests/package/aot/checks.h"
#include <imbrex/dsl.hpp>

#include <array>
#include <numeric>
#include <utility>

/// Launches whose results are looked at, on fake GPUs, real ones and the host.
namespace imbrex::aot_tests {

/// Launches `scale` again and again with one or the other of few arguments, so that many are like
/// an earlier one, and compares each result.
inline void launchInAnyOrder(const stream_ref &gpu, unsigned seed, int launches) {
  constexpr std::size_t kSize = 512;
  std::vector<f32> few(kSize), other(kSize); // whose results are exact
  std::iota(few.begin(), few.end(), 1.0f);
  std::iota(other.begin(), other.end(), 1000.0f);
  const std::array from{on(gpu, few), on(gpu, other)};
  std::array to{on(gpu, std::vector<f32>(kSize)), on(gpu, std::vector<f32>(kSize))};
  std::mt19937 generator(seed);
  const auto choice = [&](int count) {
    return static_cast<std::size_t>(std::uniform_int_distribution<int>(0, count - 1)(generator));
  };
  for (int i = 0; i < launches; ++i) {
    CAPTURE(i);
    const auto &x = from[choice(2)];
    auto &y = to[choice(2)];
    constexpr std::array<int, 4> kCounts{512, 496, 511, 100};
    const int count = kCounts[choice(4)], shift = choice(2) == 0 ? -16 : 32;
    const float factor = choice(2) == 0 ? 0.5f : 3.0f;
    const f16 bias(choice(2) == 0 ? 1.0 : -2.0);
    const bool negate = choice(2) == 0;
    const auto blocks = static_cast<std::int64_t>(1 + choice(2));
    REQUIRE(y.copy_from(std::vector<f32>(kSize, -1)).ok());
    check(app::scale(gpu, blocks, memory<const f32>(x), y, count, factor, bias, negate, shift));
    const std::vector<f32> given = contentOf(x), made = contentOf(y);
    for (std::size_t k = 0; k < kSize; ++k) {
      const float value = given[k] * factor + float(bias) + static_cast<float>(shift);
      const bool isInside = k < 256 * static_cast<std::size_t>(blocks) && std::cmp_less(k, count);
      REQUIRE(made[k] == (!isInside ? -1 : negate ? -value : value));
    }
  }
}

/// From pinned memory to the device, a launch, and back, all of it in the stream.
inline void addInStream(const stream_ref &on) {
  constexpr std::int64_t kSize = 3000;
  aot::pinned_buffer<f32> here;
  check(here.make(on, kSize));
  CHECK(here.size() == kSize);
  std::iota(here.begin(), here.end(), 1.0f);
  device_buffer<f32> there, sums;
  check(there.make(on, kSize));
  check(sums.make(on, kSize));
  check(there.start_copy_from(here));
  const array<const f32, 1> given(there.data(), {kSize});
  check(app::add(on, cdiv(kSize, 1024), given, given, array<f32, 1>(sums.data(), {kSize})));
  check(sums.start_copy_to(here));
  check(on.synchronise());
  for (std::int64_t i = 0; i < kSize; ++i) REQUIRE(here[i] == 2.0f * static_cast<f32>(i + 1));
}

} // namespace imbrex::aot_tests
