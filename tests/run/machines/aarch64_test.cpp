#include "tests/run/machines/emulated_cpu.h"
#include "tests/run/machines/questions.h"
#include "tests/support/looped_product.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <vector>

/// The code that the host target makes for AArch64, executed by an emulator of such processors.
namespace imbrex::testing {
namespace {

/// A processor as LLVM calls it, and one of the emulator's that has no less.
struct Arm {
  std::string llvm, emulator;
};
const Arm kFirst{"generic", "cortex-a53"}; // ARMv8.0: NEON, and nothing that came later
const Arm kLast{"neoverse-v2", "max"};     // f16, bf16, matrix instructions, atomics and SVE2

/// Ask a processor; say so where there is none.
void ask(const Arm &arm, const std::function<void(EmulatedCpu &, semantics::Executor)> &question) {
  const auto emulator = GuestProcess::findEmulator();
  if (!emulator) {
    MESSAGE("SKIP: qemu-aarch64 is not installed (package qemu-user)");
    return;
  }
  CAPTURE(arm.llvm);
  EmulatedCpu cpu(*emulator, arm.llvm, arm.emulator);
  question(cpu, [&](const ir::Kernel &kernel, const ir::Grid &grid,
                    llvm::ArrayRef<ir::Argument> arguments, Diagnostics &diagnostics) {
    return cpu.run(kernel, grid, arguments, diagnostics);
  });
}

/// What running a kernel of one pointer to four numbers reports.
std::string reportOf(EmulatedCpu &cpu, const std::string &text,
                     std::vector<std::uint32_t> &memory) {
  const ir::Kernel kernel = parsedKernel(text);
  Diagnostics diagnostics;
  const ir::Argument argument{.data = reinterpret_cast<std::byte *>(memory.data()), .bytes = 16};
  cpu.run(kernel, {}, argument, diagnostics);
  return diagnostics.all().empty() ? "" : diagnostics.all()[0].message;
}

std::string instruction(const std::string &text, const std::string &target) {
  return "kernel @k(%y: ptr<u32>) stage tiles {\n"
         "  %i = arange [start = 1] : u32[4]\n"
         "  %s = inline_asm %i [text = \"" +
         text + "\", constraints = \"=r,r\", target = \"" + target +
         "\"] : u32[4]\n"
         "  %yb = broadcast %y : ptr<u32>[4]\n"
         "  %o = arange : i32[4]\n"
         "  %py = ptr.add %yb, %o : ptr<u32>[4]\n"
         "  store %py, %s\n}\n";
}

} // namespace

TEST_CASE("kernels for AArch64 have NEON's registers") {
  ask(kFirst, [](EmulatedCpu &cpu, const semantics::Executor &) {
    const host::HostMachine &machine = cpu.compiler().machine();
    CHECK(machine.name == "host-aarch64");
    CHECK(machine.vectors.bits == 128);
    CHECK(machine.vectors.registers == 32);
    CHECK_FALSE(machine.hasAvx512);
    CHECK_FALSE(machine.vectors.hasMatrixBytes);
  });
}

TEST_CASE("kernels run AArch64's own instructions and report an assertion that fails") {
  ask(kFirst, [](EmulatedCpu &cpu, const semantics::Executor &) {
    std::vector<std::uint32_t> y(4);
    CHECK(reportOf(cpu, instruction("rev ${0:w}, ${1:w}", "host-aarch64"), y) == "");
    CHECK(y == std::vector<std::uint32_t>{1U << 24, 2U << 24, 3U << 24, 4U << 24});
    CHECK(reportOf(cpu, instruction("bswap $0", "host-aarch64"), y)
              .starts_with("the instructions of inline_asm do not assemble: "));
    CHECK(reportOf(cpu, instruction("bswap $0", "host-x86_64"), y) ==
          "inline assembly for 'host-x86_64' cannot run on 'host-aarch64'");
    CHECK(reportOf(cpu,
                   "kernel @k(%y: ptr<u32>) stage tiles {\n  %i = arange : i32[4]\n"
                   "  %three = constant 3 : i32\n  %t = broadcast %three : i32[4]\n"
                   "  %c = lt %i, %t : bool[4]\n  assert %c [text = \"small\"]\n}\n",
                   y) == "assertion failed at tile index [3] of block [0, 0, 0]: small");
  });
}

TEST_CASE("AArch64 gives what the semantics page says") {
  ask(kFirst, [](EmulatedCpu &, const auto &executor) { askPage(executor, 0, 2); });
  ask(kLast, [](EmulatedCpu &, const auto &executor) { askPage(executor, 1, 2); });
}

TEST_CASE("random kernels leave on AArch64 what the interpreter does") {
  ask(kFirst, [](EmulatedCpu &, const auto &executor) { askRandomKernels(executor, 0, 40); });
  ask(kLast, [](EmulatedCpu &, const auto &executor) { askRandomKernels(executor, 40, 40); });
}

TEST_CASE("kernels of the table and of the examples do as well") {
  ask(kLast, [](EmulatedCpu &, const semantics::Executor &executor) { askTable(executor); });
}

/// Where products of bytes and of bf16 are of words, as the matrix instructions and dot products of
/// AArch64 take them.
LoopedProduct productOfWords(std::uint32_t seed) {
  LoopedProduct product = randomLoopedProduct(seed);
  product.element = std::vector<std::string>{"i8", "u8", "bf16"}[seed / 3 % 3];
  if (seed % 2 == 0) { // a row and a column at the end that no other is beside
    product.rows = std::vector<std::int64_t>{3, 13, 27}[seed / 2 % 3];
    product.columns = std::vector<std::int64_t>{5, 7, 21}[seed / 4 % 3];
  }
  return product;
}

void askProductsOfWords(EmulatedCpu &cpu, std::uint32_t first, std::uint32_t count) {
  const auto prepare = [&](const ir::Kernel &kernel, Diagnostics &) -> LaunchOf {
    return [&cpu, own = std::make_shared<ir::Kernel>(kernel.clone())](
               const ir::Grid &grid, llvm::ArrayRef<ir::Argument> arguments,
               Diagnostics &diagnostics) { return cpu.run(*own, grid, arguments, diagnostics); };
  };
  for (std::uint32_t seed = first; seed < first + count; ++seed) {
    const LoopedProduct product = productOfWords(seed);
    CAPTURE(seed);
    CAPTURE(textOf(product));
    CHECK(difference(product, prepare) == "");
  }
}

TEST_CASE("AArch64's matrix instructions and dot products add up what is in the boxes") {
  ask(kLast, [](EmulatedCpu &cpu, const auto &) {
    CHECK(cpu.compiler().machine().vectors.hasMatrixBytes);
    CHECK(cpu.compiler().machine().vectors.hasMatrixBf16);
    askProductsOfWords(cpu, 0, 20);
  });
}

// Run by --no-skip: ten minutes.
TEST_CASE("every AArch64 agrees" * doctest::skip()) {
  for (const Arm &arm :
       {kLast, Arm{"apple-m1", "max"}, Arm{"a64fx", "a64fx"}, Arm{"neoverse-n1", "neoverse-n1"},
        Arm{"cortex-a72", "cortex-a72"}, kFirst})
    ask(arm, [](EmulatedCpu &, const auto &executor) {
      askPage(executor);
      askRandomKernels(executor, 0, 300);
      askTable(executor);
    });
}

// Run by --no-skip: ten minutes.
TEST_CASE("any AArch64 multiplies words" * doctest::skip()) {
  for (const Arm &arm : {kLast, Arm{"neoverse-n1", "neoverse-n1"}, kFirst})
    ask(arm, [](EmulatedCpu &cpu, const auto &) { askProductsOfWords(cpu, 0, 300); });
}

} // namespace imbrex::testing
