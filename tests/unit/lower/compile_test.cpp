#include "backend/compile.h"
#include "backend/ir/text.h"

#include <doctest/doctest.h>

namespace imbrex {
namespace {

/// A machine of each family that there is code for.
std::vector<const machine::Machine *> oneOfEachFamily() {
  std::vector<const machine::Machine *> chosen;
  for (const machine::Machine &machine : machine::allMachines()) {
    const bool isKnown = llvm::any_of(
        chosen, [&](const machine::Machine *known) { return known->family == machine.family; });
    if (!isKnown && target::findGpuTarget(machine)) chosen.push_back(&machine);
  }
  return chosen;
}

ir::Kernel kernelOf(const std::string &text) {
  Diagnostics diagnostics;
  auto kernel = ir::parse(text, "test.imx", diagnostics);
  REQUIRE_MESSAGE(kernel, diagnostics.render());
  return std::move(*kernel);
}

/// The only error of a compilation; none where it has gone well.
std::optional<Diagnostic> errorOf(ir::Kernel kernel, const machine::Machine &machine) {
  Diagnostics diagnostics;
  const auto code = compileForGpu(kernel, target::gpuTarget(machine), {}, diagnostics);
  CHECK(code.has_value() == diagnostics.all().empty());
  if (code) return std::nullopt;
  REQUIRE(diagnostics.all().size() == 1);
  return diagnostics.all()[0];
}

TEST_CASE("inline assembly whose operands are wrong is reported at its line") {
  struct Wrong {
    std::string text, constraints, problem;
  };
  const Wrong wrong[]{{"mov $7, $1", "=r,r", "the text names operand $7 of 2"},
                      {"mov $0, $1", "nonsense", ""},
                      {"mov $0, $1", "=r", ""},
                      {"mov $0, $1", "", ""},
                      {"mov $0, $1", "=r,=r,r", ""},
                      {"mov $0, $1", "=r,r,!i", "label"},
                      {"mov $", "=r,r", "a '$' stands at the end of the text"}};
  for (const machine::Machine *machine : oneOfEachFamily())
    for (const Wrong &one : wrong) {
      CAPTURE(machine->name);
      CAPTURE(one.text);
      const auto error = errorOf(
          kernelOf("kernel @k(%p: ptr<i32>, %s: i32) stage tiles {\n%a = inline_asm %s [text = \"" +
                   one.text + "\", constraints = \"" + one.constraints + "\", target = \"" +
                   std::string(machine->name) + "\"] : i32\nstore %p, %a\n}"),
          *machine);
      REQUIRE(error);
      CHECK(error->kind == Diag::BadAssembly);
      CHECK(error->where.line == 2);
      CHECK(error->message.find(one.problem) != std::string::npos);
    }
}

TEST_CASE("an op that wants more shared memory than a block has is reported at its line") {
  constexpr std::string_view kProducts = R"(
kernel @k(%a: view<const f32, 3>, %b: view<const f32, 3>, %c: view<f32, 3>) stage tiles {
  %z = constant 0 : i32
  %x = view.load %a, %z, %z, %z : f32[4096x4x2]
  %y = view.load %b, %z, %z, %z : f32[4096x2x2]
  %zero = constant 0.0 : f32[4096x4x2]
  %sum = dot %x, %y, %zero : f32[4096x4x2]
  view.store %c, %sum, %z, %z, %z
}
)";
  for (const machine::Machine *machine : oneOfEachFamily()) {
    CAPTURE(machine->name);
    const auto error = errorOf(kernelOf(std::string(kProducts)), *machine);
    REQUIRE(error);
    CHECK(error->kind == Diag::SharedMemoryOverflow);
    CHECK(error->where.line == 7);
  }
}

TEST_CASE("a kernel that is laid out compiles again, for a machine with its warps") {
  const ir::Kernel source = kernelOf(R"(
kernel @k(%p: ptr<i32>) stage tiles {
  %i = arange : i32[256]
  %to = broadcast %p : ptr<i32>[256]
  %at = ptr.add %to, %i : ptr<i32>[256]
  store %at, %i
}
)");
  for (const machine::Machine *machine : oneOfEachFamily()) {
    CAPTURE(machine->name);
    ir::Kernel laid = source.clone();
    Diagnostics diagnostics;
    REQUIRE(compileForGpu(laid, target::gpuTarget(*machine), {}, diagnostics));
    REQUIRE(laid.stage() == ir::Stage::Laid);
    const ir::Kernel read = kernelOf(ir::print(laid));
    for (const machine::Machine &other : machine::allMachines()) {
      if (!target::findGpuTarget(other)) continue;
      CAPTURE(other.name);
      const auto error = errorOf(read.clone(), other);
      CHECK(error.has_value() == (other.warpSize != machine->warpSize));
      if (error) CHECK(error->kind == Diag::ForeignLayouts);
    }
  }
}

} // namespace
} // namespace imbrex
