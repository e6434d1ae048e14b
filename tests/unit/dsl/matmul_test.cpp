#include "doctest/doctest.h"
#include "dsl/traced_kernel.h"
#include <imbrex/dsl.hpp>

#include <string>

namespace {
using namespace imbrex;

template <class T, int BM, int BN, int BK>
struct matmul {
  static constexpr names parameters{"a", "b", "c"};
  void operator()(view<const T, 2> a, view<const T, 2> b, view<T, 2> c) const {
    auto [m, n] = program_id<2>();
    var acc = zeros<f32, BM, BN>();
    for (auto k : range(0, cdiv(a.extent(1), BK)).pipelined(4))
      acc += dot(a[box<BM, BK>(m, k)], b[box<BK, BN>(k, n)]);
    c[box<BM, BN>(m, n)] = cast<T>(acc);
  }
};

} // namespace

TEST_CASE("the matmul kernel is recorded as it reads") {
  const traced_kernel kernel = trace(matmul<bf16, 128, 256, 64>{});
  CHECK(kernel.name() == "matmul");
  CHECK(
      kernel.text() ==
      R"(kernel @matmul(%a: view<const bf16, 2>, %b: view<const bf16, 2>, %c: view<bf16, 2>) stage traced {
  %0 = constant 0 : f32[128x256]
  %1 = var.new %0 : var<f32[128x256]>
  %2 = constant 0 : i64
  %3 = view.extent %a [axis = 1] : i64
  %4 = constant 64 : i64
  %5 = cdiv %3, %4 : i64
  %6 = constant 1 : i64
  %7 = program_id : i32
  %8 = program_id [axis = 1] : i32
  for %2, %5, %6 [pipelined = 4] (%9: i64) {
    %10 = var.read %1 : f32[128x256]
    %11 = view.load %a, %7, %9 : bf16[128x64]
    %12 = view.load %b, %9, %8 : bf16[64x256]
    %13 = constant 0 : f32[128x256]
    %14 = dot %11, %12, %13 : f32[128x256]
    %15 = add %10, %14 : f32[128x256]
    var.write %1, %15
    yield
  }
  %16 = var.read %1 : f32[128x256]
  %17 = cast %16 : bf16[128x256]
  view.store %c, %17, %7, %8
}
)");
}

TEST_CASE("a loop says whether its warps are to take turns") {
  const auto loop = [](auto range) {
    const traced_kernel kernel = trace([&](view<i32, 1> v) {
      for (auto k : range(cast<i32>(v.extent(0)))) v[box<1>(k)] = full<i32, 1>(k);
    });
    const std::string text(kernel.text());
    const std::size_t at = text.find("for %");
    return text.substr(at, text.find('\n', at) - at);
  };
  CHECK(loop([](auto n) { return range(n).pipelined(2).by_turns(); }).find("turns = 2") !=
        std::string::npos);
  CHECK(loop([](auto n) { return range(n).by_turns(false); }).find("turns = -1") !=
        std::string::npos);
  CHECK(loop([](auto n) { return range(n).pipelined(2); }).find("turns") == std::string::npos);
}
