// Sorts so long that their merges are one loop.

#include "backend/compile.h"
#include "backend/emulate/emulate.h"
#include "backend/interpret/interpret.h"
#include "tests/support/parsed_kernel.h"
#include "tests/unit/lower/machines.h"

#include <doctest/doctest.h>

#include <random>
#include <string>

namespace imbrex {
namespace {

struct Sort {
  std::string shape, axis, order;
  std::int64_t rows, columns;
  bool isAlone = false; ///< The places do not follow.
};

/// Sorts numbers, and their places along with them.
ir::Kernel sortKernel(const Sort &sort) {
  const std::string tile = "i32[" + sort.shape + "]";
  return testing::parsedKernel(
      "kernel @k(%x: view<const i32, 2>, %y: view<i32, 2>, %p: view<i32, 2>) stage tiles {\n"
      "%z = constant 0 : i32\n%a = view.load %x, %z, %z : " +
      tile + "\n%f = arange : i32[" + std::to_string(sort.rows * sort.columns) +
      "]\n%i = reshape %f : " + tile + "\n" +
      (sort.isAlone ? "%o = neg %i : " + tile + "\n%s = sort %a" : "%s, %o = sort %a, %i") +
      " [axis = " + sort.axis + ", descending = " + sort.order + "] : " + tile +
      (sort.isAlone ? "" : ", " + tile) +
      "\nview.store %y, %s, %z, %z\nview.store %p, %o, %z, %z\n}");
}

/// Numbers of which many are equal, and room for the results.
class SortLaunch {
public:
  explicit SortLaunch(const Sort &sort) : sort_(sort) {
    std::mt19937 random(7);
    for (std::vector<std::int32_t> &array : arrays_)
      array.resize(static_cast<std::size_t>(sort.rows * sort.columns));
    for (std::int32_t &number : arrays_[0])
      number = static_cast<std::int32_t>(random() % 5000) - 2500;
  }
  std::vector<ir::Argument> arguments() {
    std::vector<ir::Argument> list;
    for (std::vector<std::int32_t> &array : arrays_) {
      ir::Argument &argument = list.emplace_back();
      argument.data = reinterpret_cast<std::byte *>(array.data());
      argument.extents = {sort_.rows, sort_.columns};
      argument.strides = {sort_.columns, 1};
      argument.bytes = sort_.rows * sort_.columns * 4;
    }
    return list;
  }
  const auto &arrays() const { return arrays_; }

private:
  Sort sort_;
  std::array<std::vector<std::int32_t>, 3> arrays_;
};

} // namespace

TEST_CASE("a sort of thousands is what the interpreter makes of it") {
  const Sort sorts[]{{"1x5000", "1", "true", 1, 5000},
                     {"1x5000", "1", "false", 1, 5000, true},
                     {"16x1000", "1", "false", 16, 1000},
                     {"600x17", "0", "true", 600, 17}};
  for (const Sort &sort : sorts) {
    const ir::Kernel kernel = sortKernel(sort);
    SortLaunch meant(sort);
    Diagnostics diagnostics;
    REQUIRE_MESSAGE(interpret::run(kernel, {}, meant.arguments(), diagnostics),
                    diagnostics.render());
    for (const machine::Machine *machine : machinesOfEachWarpSize()) {
      CAPTURE(sort.shape);
      CAPTURE(machine->name);
      ir::Kernel compiled = sortKernel(sort);
      const target::GpuTarget &target = target::gpuTarget(*machine);
      const auto code = compileForGpu(compiled, target, {}, diagnostics);
      REQUIRE_MESSAGE(code, diagnostics.render());
      const auto program =
          emulate::Program::compile(*code->copy(), *machine, code->interface, diagnostics);
      REQUIRE_MESSAGE(program, diagnostics.render());
      for (const std::uint64_t seed : {0, 1}) {
        CAPTURE(seed);
        SortLaunch made(sort);
        REQUIRE_MESSAGE(program->run({}, made.arguments(), {.seed = seed}, diagnostics),
                        diagnostics.render());
        CHECK(made.arrays() == meant.arrays());
      }
    }
  }
}

TEST_CASE("the code of a sort grows as its elements, and not as the steps that they take") {
  for (const machine::Machine *machine : machinesOfEachWarpSize()) {
    CAPTURE(machine->name);
    std::vector<std::int32_t> lengths;
    for (const std::int64_t columns : {8192, 32768}) {
      ir::Kernel kernel = sortKernel({"1x" + std::to_string(columns), "1", "false", 1, columns});
      Diagnostics diagnostics;
      const target::GpuTarget &target = target::gpuTarget(*machine);
      const auto code = compileForGpu(kernel, target, {}, diagnostics);
      REQUIRE_MESSAGE(code, diagnostics.render());
      const auto assembly = makeAssembly(*code, target);
      REQUIRE(assembly);
      lengths.push_back(target.instructions(*assembly).total());
    }
    CHECK(lengths[1] < 6 * lengths[0]); // of four times as many elements
  }
}

} // namespace imbrex
