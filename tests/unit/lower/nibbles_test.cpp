// Views of f4e2m1, two elements in a byte: read and written whole bytes at a time where a launch
// allows it, and half bytes where it does not.

#include "backend/assembly.h"
#include "backend/emulate/emulate.h"
#include "backend/interpret/interpret.h"
#include "backend/report.h"
#include "tests/support/parsed_kernel.h"
#include "tests/unit/lower/machines.h"

#include <doctest/doctest.h>

#include <string>

namespace imbrex {
namespace {

/// A matrix and one that is written, a row of which is `stride` elements; and where boxes begin.
struct Matrix {
  std::int64_t rows, columns, stride, firstRow, firstColumn;
};

class MatrixLaunch {
public:
  explicit MatrixLaunch(const Matrix &of) : of_(of) {
    // Aligned to all that an access can be, and with room behind the last element.
    const auto bytes = static_cast<std::size_t>(of.rows * of.stride / 2 + 2 * kAlignment);
    for (std::vector<std::uint8_t> &array : arrays_)
      for (std::size_t i = 0; i < bytes; ++i)
        array.push_back(static_cast<std::uint8_t>(i * 73 + (&array - &arrays_[0]) * 41 + 5));
  }

  std::vector<ir::Argument> arguments() {
    std::vector<ir::Argument> list;
    for (std::vector<std::uint8_t> &array : arrays_) {
      const auto address = reinterpret_cast<std::uintptr_t>(array.data());
      const std::uintptr_t aligned = (address + kAlignment - 1) / kAlignment * kAlignment;
      ir::Argument argument;
      argument.data = reinterpret_cast<std::byte *>(array.data()) + (aligned - address);
      argument.extents = {of_.rows, of_.columns};
      argument.strides = {of_.stride, 1};
      argument.bytes = of_.rows * of_.stride / 2 + 1;
      list.push_back(argument);
    }
    list.push_back({.scalar = static_cast<std::uint64_t>(of_.firstRow)});
    list.push_back({.scalar = static_cast<std::uint64_t>(of_.firstColumn)});
    return list;
  }

  /// What is in the matrix that is written, and behind it.
  std::vector<std::byte> written() {
    const ir::Argument argument = arguments()[1];
    return {argument.data, argument.data + argument.bytes};
  }

private:
  static constexpr std::uintptr_t kAlignment = 16;
  Matrix of_;
  std::array<std::vector<std::uint8_t>, 2> arrays_;
};

/// Writes a box's bits upside down, of 6 where it reads beyond the end.
std::string upsideDown(int rows, int columns, const std::string &unit) {
  const std::string front = std::to_string(rows) + "x";
  const std::string box = "f4e2m1[" + front + std::to_string(columns) + "]\n",
                    bytes = "u8[" + front + std::to_string(columns / 2) + "]\n";
  return "kernel @k(%x: view<const f4e2m1, 2>, %y: view<f4e2m1, 2>, %r: i32, %c: i32) stage tiles "
         "{\n%six = constant 6 : f4e2m1\n%v = view.load %x, %r, %c, %six [padding = value, unit "
         "= " +
         unit + "] : " + box + "%b = bitcast %v : " + bytes + "%n = not %b : " + bytes +
         "%w = bitcast %n : " + box + "view.store %y, %w, %r, %c [unit = " + unit + "]\n}";
}

/// Whether the code for such a launch moves whole bytes; it leaves what the interpreter does.
bool checkAndSayWhetherWide(const std::string &text, const Matrix &of,
                            const machine::Machine &machine) {
  const ir::Kernel kernel = testing::parsedKernel(text);
  MatrixLaunch meant(of), made(of);
  Diagnostics diagnostics;
  REQUIRE(interpret::run(kernel, {}, meant.arguments(), diagnostics));
  ir::Kernel compiled = testing::parsedKernel(text);
  const analysis::Assumptions usual = analysis::usualAssumptions(kernel);
  const analysis::Assumptions assumed = analysis::assumptionsOf(kernel, made.arguments(), usual);
  const target::GpuTarget &target = target::gpuTarget(machine);
  const auto code = compileForGpu(compiled, target, assumed, diagnostics);
  REQUIRE_MESSAGE(code, diagnostics.render());
  const auto program =
      emulate::EmulatedProgram::compile(*code->copy(), machine, code->interface, diagnostics);
  REQUIRE_MESSAGE(program, diagnostics.render());
  REQUIRE_MESSAGE(program->run({}, made.arguments(), {}, diagnostics), diagnostics.render());
  REQUIRE(made.written() == meant.written());
  const auto assembly = makeAssembly(*code, target);
  REQUIRE(assembly);
  return target.instructions(*assembly).count(target::InstructionClass::Atomic) == 0;
}

} // namespace

TEST_CASE("half bytes go where they belong, beside what others write, at every end of a view") {
  for (const machine::Machine *machine : machinesOfEachWarpSize())
    for (const std::int64_t columns : {1, 2, 5, 31, 32, 33, 62, 63, 64, 65, 96})
      for (const std::int64_t more : {0, 1, 2, 32}) {
        CAPTURE(machine->name);
        CAPTURE(columns);
        CAPTURE(more);
        const Matrix of{.rows = 5,
                        .columns = columns,
                        .stride = columns + more,
                        .firstRow = 0,
                        .firstColumn = 0};
        const bool isWide = checkAndSayWhetherWide(upsideDown(8, 64, "tiles"), of, *machine);
        CHECK(isWide == (columns % 2 == 0 && of.stride % 2 == 0));
      }
}

TEST_CASE("a box of half bytes may begin anywhere, in front of a view, too") {
  for (const machine::Machine *machine : machinesOfEachWarpSize())
    for (const std::int64_t column : {-33, -32, -1, 1, 2, 16, 31, 32, 63, 64, 100}) {
      CAPTURE(machine->name);
      CAPTURE(column);
      const Matrix of{
          .rows = 6, .columns = 64, .stride = 96, .firstRow = -2, .firstColumn = column};
      const bool isWide = checkAndSayWhetherWide(upsideDown(4, 32, "elements"), of, *machine);
      CHECK(isWide == (column % 16 == 0));
    }
}

namespace {

/// What is reported of two blocks, each of which stores one element: so many from the other's.
std::string reportOfTwoBlocks(std::int64_t apart, const machine::Machine &machine) {
  ir::Kernel kernel = testing::parsedKernel(
      "kernel @k(%y: view<f4e2m1, 1>, %n: i32) stage tiles {\n%b = program_id : i32\n"
      "%at = mul %b, %n : i32\n%six = constant 6 : f4e2m1[1]\n"
      "view.store %y, %six, %at [unit = elements]\n}");
  std::array<std::uint8_t, 16> bytes{};
  ir::Argument view;
  view.data = reinterpret_cast<std::byte *>(bytes.data());
  view.bytes = static_cast<std::int64_t>(bytes.size());
  view.extents = {32};
  view.strides = {1};
  Diagnostics diagnostics;
  const auto code = compileForGpu(kernel, target::gpuTarget(machine),
                                  analysis::usualAssumptions(kernel), diagnostics);
  REQUIRE_MESSAGE(code, diagnostics.render());
  const auto program =
      emulate::EmulatedProgram::compile(*code->copy(), machine, code->interface, diagnostics);
  REQUIRE_MESSAGE(program, diagnostics.render());
  program->run({{2, 1, 1}}, {view, {.scalar = static_cast<std::uint64_t>(apart)}}, {}, diagnostics);
  return diagnostics.render();
}

} // namespace

TEST_CASE("two blocks may write elements of two bytes, but not the two of one") {
  for (const machine::Machine *machine : machinesOfEachWarpSize()) {
    CAPTURE(machine->name);
    CHECK(reportOfTwoBlocks(2, *machine) == "");
    CHECK(reportOfTwoBlocks(1, *machine).find("of 'y' in no order") != std::string::npos);
  }
}

TEST_CASE("neighbours of half a byte are one access, of up to 16 bytes") {
  using target::InstructionClass;
  for (const machine::Machine *machine : machinesOfEachWarpSize())
    for (const std::int64_t extent : {256, 2048, 8192}) {
      CAPTURE(machine->name);
      CAPTURE(extent);
      const std::string box = "f4e2m1[" + std::to_string(extent) + "]";
      ir::Kernel kernel =
          testing::parsedKernel("kernel @k(%x: view<const f4e2m1, 1>, %y: view<f4e2m1, 1>) stage "
                                "tiles {\n%i = program_id : i32\n%v = view.load %x, %i : " +
                                box + "\nview.store %y, %v, %i\n}");
      Diagnostics diagnostics;
      const target::GpuTarget &target = target::gpuTarget(*machine);
      const auto code =
          compileForGpu(kernel, target, analysis::usualAssumptions(kernel), diagnostics);
      REQUIRE_MESSAGE(code, diagnostics.render());
      const target::InstructionMix mix = target.instructions(*makeAssembly(*code, target));
      const std::int64_t held = extent / 2 / code->interface.threads;
      const auto bytes = static_cast<std::int32_t>(std::min<std::int64_t>(held, 16));
      const std::map<std::int32_t, std::int32_t> one{{bytes, 1}};
      CHECK(mix.widths.at(InstructionClass::GlobalLoad) == one);
      CHECK(mix.widths.at(InstructionClass::GlobalStore) == one);
      const auto report = reportOf(*code, target);
      CHECK((report && toJson(*report).find(
                           R"("divisible_rows","small_extents","small_span","rows_of_16_bytes")") !=
                           std::string::npos));
    }
}

} // namespace imbrex
