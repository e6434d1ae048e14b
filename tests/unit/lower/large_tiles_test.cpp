// Tiles whose elements take so many registers that they are worked on in parts, or that more
// threads than usual share them.

#include "backend/compile.h"
#include "backend/emulate/emulate.h"
#include "tests/support/parsed_kernel.h"
#include "tests/unit/lower/machines.h"

#include <doctest/doctest.h>

#include <string>

namespace imbrex {
namespace {

constexpr std::int64_t kElements = 32768;

struct Numbers {
  std::vector<std::int64_t> x, y, sum;
  std::vector<ir::Argument> arguments() {
    std::vector<ir::Argument> list;
    for (std::vector<std::int64_t> *array : {&x, &y, &sum})
      list.push_back({.data = reinterpret_cast<std::byte *>(array->data()),
                      .bytes = 8 * kElements,
                      .extents = {kElements},
                      .strides = {1}});
    return list;
  }
};

/// Numbers whose lower halves carry into the upper ones.
Numbers someNumbers() {
  Numbers numbers;
  for (std::int64_t i = 0; i < kElements; ++i) {
    numbers.x.push_back(i * 0x1'0000'0001);
    numbers.y.push_back(0xFFFF'FFFF - i * i);
    numbers.sum.push_back(0);
  }
  return numbers;
}

} // namespace

TEST_CASE("sums of 32768 numbers of 64 bits, in boxes and by pointers, are right") {
  constexpr std::string_view kBoxes = R"(
kernel @k(%x: view<const i64, 1>, %y: view<const i64, 1>, %z: view<i64, 1>) stage tiles {
  %0 = program_id : i32
  %1 = view.load %x, %0 : i64[32768]
  %2 = view.load %y, %0 : i64[32768]
  %3 = add %1, %2 : i64[32768]
  view.store %z, %3, %0
}
)";
  constexpr std::string_view kPointers = R"(
kernel @k(%x: ptr<const i64>, %y: ptr<const i64>, %z: ptr<i64>) stage tiles {
  %0 = arange : i32[32768]
  %1 = broadcast %x : ptr<const i64>[32768]
  %2 = ptr.add %1, %0 : ptr<const i64>[32768]
  %3 = load %2 : i64[32768]
  %4 = broadcast %y : ptr<const i64>[32768]
  %5 = ptr.add %4, %0 : ptr<const i64>[32768]
  %6 = load %5 : i64[32768]
  %7 = add %3, %6 : i64[32768]
  %8 = broadcast %z : ptr<i64>[32768]
  %9 = ptr.add %8, %0 : ptr<i64>[32768]
  store %9, %7
}
)";
  for (const auto &[text, threads] : {std::pair(kBoxes, 256), std::pair(kPointers, 512)})
    for (const machine::Machine *machine : machinesOfEachWarpSize()) {
      CAPTURE(text);
      CAPTURE(machine->name);
      ir::Kernel kernel = testing::parsedKernel(std::string(text));
      Diagnostics diagnostics;
      const target::GpuTarget &target = target::gpuTarget(*machine);
      const auto code =
          compileForGpu(kernel, target, analysis::usualAssumptions(kernel), diagnostics);
      REQUIRE_MESSAGE(code, diagnostics.render());
      CHECK(code->interface.threads == threads);
      const auto program =
          emulate::EmulatedProgram::compile(*code->copy(), *machine, code->interface, diagnostics);
      REQUIRE_MESSAGE(program, diagnostics.render());
      Numbers numbers = someNumbers();
      REQUIRE_MESSAGE(program->run({}, numbers.arguments(), {}, diagnostics), diagnostics.render());
      for (std::size_t i = 0; i < kElements; ++i)
        REQUIRE(numbers.sum[i] == numbers.x[i] + numbers.y[i]);
    }
}

} // namespace imbrex
