#include "backend/support/float_state.h"
#include "tests/run/runtime/state/float_states.h"
#include <imbrex/imbrex.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <vector>

/// What the headers convert on the caller's side.
namespace imbrex {
namespace {

using testing::FloatState;

/// Numbers of all sizes that a float holds.
template <class T>
std::vector<T> samples() {
  std::mt19937_64 random(5);
  std::vector<T> all;
  for (int i = 0; i < 4000; ++i) {
    const std::uint64_t bits = random();
    if constexpr (std::is_same_v<T, double>)
      all.push_back(std::ldexp(1.0 + static_cast<double>(bits % 1000003) / 1000003, i % 270 - 150));
    else if constexpr (std::is_same_v<T, float>)
      all.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(
          i % 2 == 0 ? bits & 0xbfffffff : bits & 0x80ffffff))); // subnormal or near it
    else
      all.push_back(static_cast<T>(bits >> i % 60));
  }
  return all;
}

template <class T>
std::vector<std::byte> bytesOf(const T *data, std::size_t count) {
  const auto *bytes = reinterpret_cast<const std::byte *>(data);
  return {bytes, bytes + count * sizeof(T)};
}

/// What the processor itself makes of them in the default state, and a buffer in each state.
template <class To, class From>
void compare() {
  const std::unique_ptr<To[]> expected(new To[4000]);
  std::vector<From> inputs;
  {
    const DefaultFloatState state;
    inputs = samples<From>();
    for (std::size_t i = 0; i < inputs.size(); ++i) expected[i] = static_cast<To>(inputs[i]);
  }
  for (const testing::NamedState &named : testing::kStates) {
    CAPTURE(named.name);
    const FloatState state(named.kind);
    buffer<To> made(static_cast<std::int64_t>(inputs.size()));
    made.copy_from(inputs);
    CHECK(bytesOf(made.data(), made.size()) == bytesOf(expected.get(), inputs.size()));
  }
}

/// Those that a float has just room for, and more of all sizes.
template <class To, class From>
void compareNumbers() {
  std::vector<From> numbers = samples<From>();
  constexpr auto kMost = std::int64_t{1} << std::numeric_limits<To>::digits;
  for (std::int64_t off = -9; off < 9; ++off)
    for (const std::int64_t sign : {-1, 1})
      numbers.push_back(static_cast<From>(sign * (kMost + off)));
  numbers.insert(numbers.end(),
                 {0, std::numeric_limits<From>::min(), std::numeric_limits<From>::max()});
  std::vector<To> expected;
  {
    const DefaultFloatState state;
    for (const From number : numbers) expected.push_back(static_cast<To>(number));
  }
  for (const testing::NamedState &named : testing::kStates) {
    CAPTURE(named.name);
    const FloatState state(named.kind);
    int wrong = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      std::uint64_t bits = 0;
      const bool fits = detail::argument_for<tile<To>>::take_word(numbers[i], bits);
      wrong += !fits || bits != detail::bits_of(expected[i]);
    }
    CHECK(wrong == 0);
  }
}

} // namespace

TEST_CASE("conversions: this process flushes subnormals, also in its threads") {
  CHECK(testing::flushesSubnormals());
}

TEST_CASE("conversions: numbers of the host become elements as in the default state") {
  compare<f32, double>();
  compare<f64, float>();
  compare<f32, std::int64_t>();
  compare<f32, std::uint64_t>();
  compare<f64, std::int64_t>();
  compare<f64, std::uint64_t>();
  compare<f32, std::int32_t>();
  compare<bool, float>();
  compare<bool, double>();
}

TEST_CASE("conversions: numbers of a launch become a parameter's as in the default state") {
  compareNumbers<f32, std::int32_t>();
  compareNumbers<f32, std::uint32_t>();
  compareNumbers<f32, std::int64_t>();
  compareNumbers<f32, std::uint64_t>();
  compareNumbers<f64, std::int64_t>();
  compareNumbers<f64, std::uint64_t>();
}

TEST_CASE("conversions: small floats keep subnormals on their way from and to floats") {
  for (const testing::NamedState &named : testing::kStates) {
    CAPTURE(named.name);
    const FloatState state(named.kind);
    // Compared as bits: this file's own comparisons flush, too.
    std::uint32_t wrong = 0;
    for (std::uint32_t code = 0; code < 0x7f80; ++code) {
      const bf16 x = bf16::from_bits(static_cast<std::uint16_t>(code));
      wrong += std::bit_cast<std::uint32_t>(static_cast<float>(x)) != code << 16;
      wrong += bf16(std::bit_cast<float>(code << 16)).bits != code;
      wrong += bf16(std::bit_cast<float>(code << 16 | 0x7fff)).bits != code; // below half a step
    }
    CHECK(wrong == 0);
    const volatile float small = 0x1p-130f;
    CHECK(bf16(small).bits == 8);
    CHECK(std::bit_cast<std::uint32_t>(static_cast<float>(e8m0::from_bits(0))) == 0x400000);
    CHECK(e8m0(-std::bit_cast<double>(std::uint64_t{1})).bits == 0xff);
  }
}

TEST_CASE("conversions: a buffer takes and gives what it is given") {
  for (const testing::NamedState &named : testing::kStates) {
    CAPTURE(named.name);
    const FloatState state(named.kind);
    const std::vector<double> doubles{std::bit_cast<double>(0x37f0000000000000), 0.1, -0.1};
    buffer<f32> floats(3);
    floats.copy_from(doubles);
    const std::vector<std::uint32_t> bits{0x00200000, 0x3dcccccd, 0xbdcccccd};
    for (std::size_t i = 0; i < 3; ++i)
      CHECK(std::bit_cast<std::uint32_t>(floats.span()[i]) == bits[i]);
    std::vector<double> back(3);
    floats.copy_to(back);
    CHECK(std::bit_cast<std::uint64_t>(back[0]) == 0x37f0000000000000);
    buffer<bf16> halves(1);
    halves.fill(0x1p-130);
    CHECK(halves.span()[0].bits == 0x0008);
    std::vector<float> single(1);
    halves.copy_to(single);
    CHECK(std::bit_cast<std::uint32_t>(single[0]) == 0x00080000);
  }
}

} // namespace imbrex
