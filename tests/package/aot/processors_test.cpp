#include "backend/launching/amx_permission.h"
#include "processors.hpp"
#include "tests/package/aot/checks.h"
#include "tests/package/aot/seen_log.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

/// A library with code for several processors.
namespace imbrex::aot_tests {
namespace {

using imbrex::bf16;

/// The best code that the library has for this processor, by what Linux says of it.
std::string expectedCode() {
  std::ifstream file("/proc/cpuinfo");
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  const auto isFound = [&](const char *flag) {
    return all.find(std::string(" ") + flag) != std::string::npos;
  };
  constexpr std::array kWanted{
      "avx512ifma", "sha_ni",      "avx512vbmi",    "avx512_vbmi2",     "gfni",     "vaes",
      "vpclmulqdq", "avx512_vnni", "avx512_bitalg", "avx512_vpopcntdq", "amx_bf16", "avx512_fp16",
      "amx_tile",   "amx_int8",    "avx_vnni",      "avx512_bf16"};
  const bool hasAll = std::ranges::all_of(kWanted, isFound) && mayUseAmx();
  return hasAll ? "sapphirerapids" : "x86-64-v3";
}

} // namespace

TEST_CASE("a processor runs the best code that a library has for it, with the same sums") {
  constexpr std::int64_t kRows = 40, kColumns = 50, kDepth = 100;
  const auto whole = [](std::int64_t count, int seed) {
    std::vector<bf16> made;
    for (std::int64_t i = 0; i < count; ++i)
      made.push_back(bf16(static_cast<float>(i * seed % 7 - 3)));
    return made;
  };
  const std::vector<bf16> a = whole(kRows * kDepth, 5), b = whole(kDepth * kColumns, 3);
  std::vector<float> c(kRows * kColumns, -1);
  check(processors::product(stream_ref::host(), {2, 2},
                            array<const bf16, 2>(a.data(), {kRows, kDepth}),
                            array<const bf16, 2>(b.data(), {kDepth, kColumns}),
                            array<float, 2>(c.data(), {kRows, kColumns})));
  for (std::int64_t i = 0; i < kRows; ++i)
    for (std::int64_t j = 0; j < kColumns; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < kDepth; ++k)
        sum += float(a[static_cast<std::size_t>(i * kDepth + k)]) *
               float(b[static_cast<std::size_t>(k * kColumns + j)]);
      CHECK(c[static_cast<std::size_t>(i * kColumns + j)] == sum);
    }
  const std::string load =
      "3 load: kernel=product library=processors device=host code=" + expectedCode() + " ";
  CHECK(std::ranges::count_if(
            logLines, [&](const std::string &line) { return line.starts_with(load); }) == 1);
}

} // namespace imbrex::aot_tests
