#include "dsl/traced_kernel.h"

#include <imbrex/dsl.hpp>

#include "doctest/doctest.h"

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

std::string mnemonics(const ir::Block &block) {
  std::string text;
  for (const auto &op : block.ops) {
    text += std::string(text.empty() ? "" : " ") + std::string(ir::info(op->kind).mnemonic);
    for (const ir::Block &region : op->regions) text += " { " + mnemonics(region) + " }";
  }
  return text;
}

} // namespace

TEST_CASE("the matmul kernel is recorded as it reads") {
  const traced_kernel kernel = trace(matmul<bf16, 128, 256, 64>{});
  CHECK(kernel.name() == "matmul");
  CHECK(mnemonics(irOf(kernel).body()) == "");
}
