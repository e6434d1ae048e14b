#include "backend/support/float_state.h"
#include "backend/target/gpu_target.h"
#include "tests/run/runtime/state/float_states.h"
#include <imbrex/imbrex.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <string>
#include <thread>
#include <vector>

/// Launches as users make them: by callers and threads whose floating-point state is not the
/// default. Numbers are compared as bits, as comparisons here flush as well.
namespace imbrex {
namespace {

using testing::FloatState;
using Bits = std::vector<std::uint32_t>;

struct scaled {
  void operator()(view<const f32, 1> x, view<f32, 1> y, scalar<f32> factor) const {
    auto here = box<8>(program_id(0));
    y[here] = x[here] * factor + 0.1;
  }
};

constexpr int kBlocks = 64;

std::vector<device> devices() {
  std::vector<device> all{device::interpreter(), device::host()};
  for (const char *name : {"sm_90a", "gfx942"})
    if (target::findGpuTarget(*machine::findMachine(name)) != nullptr)
      all.push_back(device::by_name(std::string("emulated:") + name));
  return all;
}

template <class T>
Bits bitsOf(const T &values) {
  Bits bits;
  for (const float x : values) bits.push_back(std::bit_cast<std::uint32_t>(x));
  return bits;
}

/// Subnormal and normal numbers.
float inputAt(std::size_t i) {
  return std::bit_cast<float>(static_cast<std::uint32_t>((0x400000 + 0x3a1f * i * i) % 0x7f000000));
}

/// 0.3 x + 0.1, by a caller who then has the state that it had.
Bits launched(device on) {
  std::vector<float> x(8 * kBlocks), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = inputAt(i);
  const std::uint64_t before = FloatState::word();
  const auto kernel = jit(scaled{});
  kernel(stream_ref(on), grid(kBlocks), x, y, 0.3);
  CHECK(FloatState::word() == before);
  return bitsOf(y);
}

} // namespace

TEST_CASE("launches: a literal, an argument and a sum have the same bits in every state") {
  Bits expected;
  {
    const DefaultFloatState state;
    for (std::size_t i = 0; i < std::size_t{8} * kBlocks; ++i) {
      const volatile float x = inputAt(i);
      expected.push_back(std::bit_cast<std::uint32_t>(std::fma(x, 0.3f, 0.1f)));
    }
  }
  for (const device on : devices())
    for (const testing::NamedState &named : testing::kStates) {
      const std::string name(on.name());
      CAPTURE(name);
      CAPTURE(named.name);
      clear_cache();
      Bits here, there;
      {
        const FloatState state(named.kind);
        here = launched(on);
        std::thread([&] { there = launched(on); }).join(); // which inherits the state
      }
      CHECK(here == expected);
      CHECK(there == expected);
    }
}

namespace {

struct smallest {
  void operator()(view<f32, 1> y) const { y[box<1>(0)] = full<f32, 1>(0x1p-140f); }
};
struct nothing {
  void operator()(view<f32, 1> y) const { y[box<1>(0)] = full<f32, 1>(0.0f); }
};

} // namespace

TEST_CASE("launches: kernels whose text differs in a subnormal are two") {
  REQUIRE(testing::flushesSubnormals());
  CHECK(trace(smallest{}).text().find("e-43") != std::string::npos);
  std::vector<float> y(1);
  jit(nothing{}, {.trace = {.name = "k"}})(stream_ref(device::host()), grid(1), y);
  jit(smallest{}, {.trace = {.name = "k"}})(stream_ref(device::host()), grid(1), y);
  CHECK(std::bit_cast<std::uint32_t>(y[0]) == 1U << 9);
}

namespace {

struct requiring {
  void operator()(view<f32, 1> y, scalar<f32> x, scalar<f64> small) const {
    require(x > 0 && small > 0, "both are positive");
    require(x / 3 == 0.333333343f || x < 1, "a third is the nearest float");
    y[box<1>(0)] = full<f32, 1>(1.0f);
  }
};

} // namespace

TEST_CASE("launches: what a kernel requires is computed as the kernel is") {
  for (const testing::NamedState &named : testing::kStates) {
    CAPTURE(named.name);
    const FloatState state(named.kind);
    std::vector<float> y(1);
    const auto kernel = jit(requiring{});
    const stream_ref on(device::interpreter());
    CHECK(kernel
              .try_launch(on, grid(1), y, std::bit_cast<float>(71362U),
                          std::bit_cast<double>(std::uint64_t{1}))
              .ok());
    CHECK(kernel.try_launch(on, grid(1), y, 1, 1).ok());
    const auto unmet = kernel.try_launch(on, grid(1), y, -std::bit_cast<float>(71362U), 1);
    REQUIRE(!unmet.ok());
    CHECK(std::string(unmet.error().what()).find("p1 is -1e-40") != std::string::npos);
  }
}

namespace {

struct asserting {
  void operator()(view<f32, 1> y) const {
    y[box<1>(0)] = y[box<1>(0)] * 0.5f;
    device_assert(y[box<1>(0)] == 1.0f, "one");
  }
};

} // namespace

TEST_CASE("launches: an error puts the state back, too") {
  const FloatState state(FloatState::Kind::Upward);
  const std::uint64_t before = FloatState::word();
  std::vector<float> y(1);
  const auto kernel = jit(asserting{});
  CHECK_THROWS_AS(kernel(stream_ref(device::host()), grid(1), y), error);
  CHECK(FloatState::word() == before);
  CHECK(std::fegetround() == FE_UPWARD);
}

} // namespace imbrex
