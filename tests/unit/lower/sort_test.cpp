// Sorts so long that their merges are one loop.

#include "backend/assembly.h"
#include "backend/compile.h"
#include "backend/emulate/emulate.h"
#include "backend/interpret/interpret.h"
#include "backend/report.h"
#include "tests/support/assembler.h"
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
  bool isAlone = false;   ///< The places do not follow.
  std::int32_t warps = 0; ///< Of a block, where it matters.
};

/// What a kernel's text asks for, if that is anything.
std::string asksFor(std::int32_t warps) {
  return warps == 0 ? "" : "[warps = " + std::to_string(warps) + "] ";
}

/// Sorts numbers, and their places along with them.
ir::Kernel sortKernel(const Sort &sort) {
  const std::string tile = "i32[" + sort.shape + "]";
  return testing::parsedKernel(
      "kernel @k(%x: view<const i32, 2>, %y: view<i32, 2>, %p: view<i32, 2>) stage tiles " +
      asksFor(sort.warps) +
      "{\n"
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
                     {"600x17", "0", "true", 600, 17},
                     // so many of each thread that the places of two are one number
                     {"1x3000", "1", "true", 1, 3000, false, 2}};
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
          emulate::EmulatedProgram::compile(*code->copy(), *machine, code->interface, diagnostics);
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

namespace {

/// Two views and a launch's bytes for them.
struct Launch {
  std::vector<std::uint8_t> from, to, places;
  std::int64_t count, kept;

  std::vector<ir::Argument> arguments() {
    const auto argument = [](std::vector<std::uint8_t> &bytes, std::int64_t extent) {
      return ir::Argument{.data = reinterpret_cast<std::byte *>(bytes.data()),
                          .bytes = static_cast<std::int64_t>(bytes.size()),
                          .extents = {extent},
                          .strides = {1}};
    };
    return {argument(from, count), argument(to, kept), argument(places, kept)};
  }
};

/// Elements of any bits, of which many are NaNs, zeros or infinite.
Launch launchOf(ir::ElementKind kind, std::int64_t count, std::int64_t kept) {
  std::mt19937 random(11);
  const auto bytes = static_cast<std::size_t>(std::max(ir::info(kind).bits / 8, 1));
  Launch launch{.from = {}, .to = {}, .places = {}, .count = count, .kept = kept};
  for (std::int64_t i = 0; i < count; ++i)
    for (std::size_t byte = 0; byte < bytes; ++byte) {
      constexpr std::array<std::uint8_t, 6> kTops{0x7f, 0xff, 0x80, 0x00, 0xf0, 0x7c};
      const bool isAny = random() % 2 == 0 || byte + 2 < bytes;
      launch.from.push_back(isAny ? static_cast<std::uint8_t>(random()) : kTops[random() % 6]);
    }
  if (kind == ir::ElementKind::Bool)
    for (std::uint8_t &byte : launch.from) byte &= 1;
  launch.to.resize(static_cast<std::size_t>(kept) * bytes);
  launch.places.resize(static_cast<std::size_t>(kept) * 4);
  return launch;
}

struct Selection {
  ir::ElementKind kind;
  std::int64_t count, kept;
  bool isDescending;
  std::int32_t warps = 0;
};

ir::Kernel kernelOf(const Selection &of) {
  const std::string element(ir::info(of.kind).name);
  const auto row = [](const std::string &name, std::int64_t n) {
    return name + "[" + std::to_string(n) + "]";
  };
  const std::string first = " [offsets = [0], strides = [1]] : ";
  return testing::parsedKernel(
      "kernel @k(%x: view<const " + element + ", 1>, %y: view<" + element +
      ", 1>, %p: view<i32, 1>) stage tiles " + asksFor(of.warps) +
      "{\n%z = constant 0 : i32\n%a = view.load %x, %z : " + row(element, of.count) +
      "\n%i = arange : " + row("i32", of.count) + "\n%s, %o = sort %a, %i" +
      (of.isDescending ? " [descending = true]" : "") + " : " + row(element, of.count) + ", " +
      row("i32", of.count) + "\n%t = slice %s" + first + row(element, of.kept) + "\n%q = slice %o" +
      first + row("i32", of.kept) + "\nview.store %y, %t, %z\nview.store %p, %q, %z\n}");
}

void checkAgainstInterpreter(const Selection &of, const machine::Machine &machine) {
  Diagnostics diagnostics;
  ir::Kernel kernel = kernelOf(of);
  CAPTURE(ir::print(kernel));
  CAPTURE(machine.name);
  Launch meant = launchOf(of.kind, of.count, of.kept), made = meant;
  REQUIRE_MESSAGE(interpret::run(kernel, {}, meant.arguments(), diagnostics), diagnostics.render());
  const auto code = compileForGpu(kernel, target::gpuTarget(machine),
                                  analysis::usualAssumptions(kernel), diagnostics);
  REQUIRE_MESSAGE(code, diagnostics.render());
  const auto program =
      emulate::EmulatedProgram::compile(*code->copy(), machine, code->interface, diagnostics);
  REQUIRE_MESSAGE(program, diagnostics.render());
  REQUIRE_MESSAGE(program->run({}, made.arguments(), {}, diagnostics), diagnostics.render());
  CHECK((made.to == meant.to));
  CHECK((made.places == meant.places));
}

} // namespace

TEST_CASE("elements of every kind are sorted to the bit, NaNs behind the others in their order") {
  for (const ir::ElementKind kind : ir::allElementKinds()) {
    if (ir::isNarrowFloat(kind)) continue; // which have no order
    for (const bool isDescending : {false, true})
      for (const machine::Machine *machine : machinesOfEachWarpSize())
        checkAgainstInterpreter({kind, 300, 300, isDescending}, *machine);
  }
}

TEST_CASE("NaNs keep their order where the places of two elements are one number") {
  for (const machine::Machine *machine : machinesOfEachWarpSize())
    checkAgainstInterpreter({ir::ElementKind::F32, 1500, 1500, true, 1}, *machine);
}

TEST_CASE("the first of a long row are what the interpreter makes of it, in parts as they are") {
  for (const machine::Machine *machine : machinesOfEachWarpSize())
    checkAgainstInterpreter({ir::ElementKind::F32, 20000, 50, true}, *machine);
}

TEST_CASE("16384 numbers and their places are sorted in registers, and 32768 nearly so" *
          doctest::test_suite("toolkit")) {
  std::vector<const machine::Machine *> machines = machinesOfEachWarpSize();
  for (const char *name : {"sm_80", "sm_90a"}) machines.push_back(machine::findMachine(name));
  for (const machine::Machine *machine : machines) {
    CAPTURE(machine->name);
    if (!target::findGpuTarget(*machine)) continue;
    const target::GpuTarget &target = target::gpuTarget(*machine);
    if (!testing::canAssemble(target)) continue;
    const std::pair<std::int64_t, std::int64_t> most[]{{16384, 0}, {32768, 400}};
    for (const auto &[count, bytes] : most) {
      CAPTURE(count);
      ir::Kernel kernel = kernelOf({ir::ElementKind::F32, count, count, false});
      Diagnostics diagnostics;
      const auto code =
          compileForGpu(kernel, target, analysis::usualAssumptions(kernel), diagnostics);
      REQUIRE_MESSAGE(code, diagnostics.render());
      const auto report = reportOf(*code, target);
      REQUIRE(report);
      CHECK(report->resources.spilledBytes <= bytes);
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
