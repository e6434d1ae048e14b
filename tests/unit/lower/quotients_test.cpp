// Quotients by numbers that are known, as many of a thread as share a reciprocal, on emulated
// machines and by the interpreter.

#include "backend/compile.h"
#include "backend/emulate/emulate.h"
#include "backend/interpret/interpret.h"
#include "backend/lower/values/emitted_scalar.h"
#include "backend/math/quotient.h"
#include "tests/support/parsed_kernel.h"
#include "tests/unit/lower/machines.h"

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <string>

namespace imbrex {
namespace {

constexpr std::int64_t kDividends = 1024;

std::vector<ir::Argument> viewsOf(std::vector<std::vector<std::byte>> &arrays) {
  std::vector<ir::Argument> arguments;
  for (std::vector<std::byte> &array : arrays)
    arguments.push_back({.data = array.data(),
                         .bytes = static_cast<std::int64_t>(array.size()),
                         .extents = {kDividends},
                         .strides = {1}});
  return arguments;
}

/// Dividends of any bits that are no NaN: of those only the interpreter's are the same.
std::vector<std::byte> dividends(std::string_view element) {
  const std::size_t width = element == "f32" ? 4 : 2;
  const std::uint32_t infinity = element == "f32"    ? 0x7f800000U
                                 : element == "bf16" ? 0x7f80U
                                                     : 0x7c00U;
  std::mt19937 random(7);
  std::vector<std::byte> bytes(kDividends * width);
  for (std::size_t i = 0; i < kDividends; ++i) {
    const std::uint32_t sign = (static_cast<std::uint32_t>(random()) & 1U) << (8 * width - 1);
    const std::uint32_t bits =
        i % 64 == 0 ? infinity : static_cast<std::uint32_t>(random()) % infinity;
    const std::uint32_t number = sign | bits;
    std::memcpy(&bytes[i * width], &number, width);
  }
  return bytes;
}

void compareQuotients(const std::string &element, const std::string &divisor,
                      const machine::Machine &machine) {
  CAPTURE(element);
  CAPTURE(divisor);
  CAPTURE(machine.name);
  const std::string tile = element + "[" + std::to_string(kDividends) + "]";
  ir::Kernel kernel = testing::parsedKernel(
      "kernel @k(%x: view<const " + element + ", 1>, %y: view<" + element +
      ", 1>) stage tiles {\n" + "  %0 = program_id : i32\n  %1 = view.load %x, %0 : " + tile +
      "\n  %2 = constant " + divisor + " : " + tile + "\n  %3 = div %1, %2 : " + tile +
      "\n  view.store %y, %3, %0\n}\n");
  std::vector<std::vector<std::byte>> expected{dividends(element), dividends(element)};
  std::vector<std::vector<std::byte>> emulated = expected;
  Diagnostics diagnostics;
  REQUIRE(interpret::run(kernel, {}, viewsOf(expected), diagnostics));
  const auto code = compileForGpu(kernel, target::gpuTarget(machine),
                                  analysis::usualAssumptions(kernel), diagnostics);
  REQUIRE_MESSAGE(code, diagnostics.render());
  const auto program =
      emulate::EmulatedProgram::compile(*code->module, machine, code->interface, diagnostics);
  REQUIRE_MESSAGE(program, diagnostics.render());
  REQUIRE_MESSAGE(program->run({}, viewsOf(emulated), {}, diagnostics), diagnostics.render());
  CHECK(emulated[1] == expected[1]);
}

} // namespace

TEST_CASE("quotients by a number that is known are the interpreter's") {
  for (const machine::Machine *machine : machinesOfEachWarpSize()) {
    for (const char *divisor : {"3", "-7", "127", "0.3", "0.229", "1e-30", "0", "3e38", "4"})
      compareQuotients("f32", divisor, *machine);
    for (const char *element : {"f16", "bf16"})
      for (const char *divisor : {"3", "-7", "127"}) compareQuotients(element, divisor, *machine);
  }
}

TEST_CASE("arithmetic with constants alone is computed") {
  using Single = lower::EmittedScalar<float>;
  using Word = lower::EmittedScalar<std::uint32_t>;
  const Single three(3.0F), third = math::reciprocalFrom(Single(0.3F), three);
  const Single quotient = math::quotientBy(third, Single(-2.0F), three);
  CHECK(quotient.b == nullptr);
  CHECK(quotient.constant == math::quotientBy(third.constant, -2.0F, 3.0F));
  const Word size = math::sizeOfDividend(bitsOf(abs(Single(-2.0F))), bitsOf(three));
  CHECK(size.constant == math::sizeOfDividend(math::bitsOf(2.0F), math::bitsOf(3.0F)));
  CHECK(math::areLargeEnough(size).constant);
  CHECK(math::isTameDivisor(bitsOf(three)).constant);
  CHECK(!math::isTameDivisor(Word(0U)).constant);
  CHECK(toF32(toF64(floatOf(bitsOf(three))) + lower::EmittedScalar<double>(0.5)).constant == 3.5F);
}

} // namespace imbrex
