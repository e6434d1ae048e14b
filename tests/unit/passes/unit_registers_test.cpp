#include "backend/machine/mma.h"
#include "backend/passes/units/unit_registers.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <array>
#include <set>

using namespace imbrex;
using passes::WarpProduct;

namespace {

constexpr std::string_view kLoop = R"(
kernel @k(%a: view<const bf16, 2>, %b: view<const bf16, 2>, %c: view<f32, 2>) stage tiles {
  %0 = constant 0 : i64
  %1 = constant 1 : i64
  %z = constant 0.0 : f32[128x128]
  %s = for %0, %1, %1, %z [pipelined = 3] (%k: i64, %sum: f32[128x128]) {
    %x = view.load %a, %0, %k : bf16[128x64]
    %y = view.load %b, %k, %0 : bf16[64x128]
    %d = dot %x, %y, %sum : f32[128x128]
    yield %d
  } : f32[128x128]
  view.store %c, %s, %0, %0
}
)";

const ir::Op &dotOf(const ir::Kernel &kernel) {
  const ir::Op *found = nullptr;
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    if (op.kind == ir::OpKind::Dot) found = &op;
  });
  REQUIRE(found != nullptr);
  return *found;
}

} // namespace

TEST_CASE(
    "registers of a product are its sums, two steps' fragments, what is loaded ahead, and some") {
  const ir::Kernel kernel = testing::parsedKernel(kLoop);
  std::set<std::int64_t> others;
  int tried = 0;
  for (const machine::Machine &machine : machine::allMachines()) {
    CAPTURE(machine.name);
    const std::int32_t warps = machine.warpSize == 64 ? 4 : 8;
    const std::array<std::int64_t, 2> grid{2, warps / 2};
    const machine::MmaInstruction *unit = nullptr;
    for (const machine::MmaInstruction *row : machine::mmaInstructionsOf(machine))
      if (machine::nameOf(row->a) == "bf16" && machine::nameOf(row->sums) == "f32") unit = row;
    if (unit == nullptr) continue;
    ++tried;
    const std::array<std::int64_t, 2> pieces{128 / grid[0] / unit->m, 128 / grid[1] / unit->n};
    const WarpProduct product{.dot = &dotOf(kernel),
                              .unit = unit,
                              .pieces = pieces,
                              .steps = 64 / unit->k,
                              .isBesideOthers = false,
                              .keepsOperands = false};
    const std::int64_t threads = std::int64_t{warps} * machine.warpSize;
    const std::int64_t sums = std::int64_t{128} * 128 / threads;
    const bool isTransposed = machine::isBestTransposed(*unit);
    const auto registersOf = [&](std::size_t i) {
      const bool isA = (i == 0) != isTransposed;
      return pieces[i] *
             machine::registersOf(*unit, isA ? machine::MmaOperand::A : machine::MmaOperand::B);
    };
    const std::int64_t step = registersOf(0) + registersOf(1);
    const std::int64_t ahead = machine.asyncCopies.sizes == 0 ? 2 * 128 * 64 / (2 * threads) : 0;
    const std::int64_t wanted = passes::registersWanted(kernel, machine, {product}, warps);
    others.insert(wanted - sums - 2 * step - ahead);
    WarpProduct beside = product;
    beside.isBesideOthers = true;
    CHECK(passes::registersWanted(kernel, machine, {beside, beside}, warps) ==
          wanted + sums + ahead);
  }
  CHECK(tried > 10);
  REQUIRE(others.size() == 1);
  CHECK(*others.begin() > 0);
}
