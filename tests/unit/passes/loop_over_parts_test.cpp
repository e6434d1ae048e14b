#include "backend/interpret/interpret.h"
#include "backend/ir/verify.h"
#include "backend/passes/loop_over_parts.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

using namespace imbrex;
using namespace imbrex::ir;
using testing::parsedKernel;

namespace {

/// Whether a loop is made of a kernel.
bool isLooped(Kernel &kernel, bool areDisjoint = true) {
  Diagnostics diagnostics;
  passes::PassContext context(diagnostics, machine::hostMachine(),
                              analysis::usualAssumptions(kernel));
  context.assumptions.areDisjoint = areDisjoint;
  passes::loopOverParts(kernel, context);
  REQUIRE_MESSAGE(verify(kernel, diagnostics), diagnostics.render());
  return llvm::any_of(kernel.body().ops, [](const auto &op) { return op->kind == OpKind::For; });
}

constexpr std::int64_t kRows = 5, kColumns = 30000; // neither the tiles' nor the parts'

/// Two matrices of which the second is written.
class Matrices {
public:
  Matrices() {
    for (std::vector<std::int32_t> &matrix : matrices_)
      for (std::int32_t i = 0; i < kRows * kColumns; ++i) matrix.push_back(i * 7919 - 1000);
  }
  std::vector<Argument> arguments(std::uint64_t index) {
    std::vector<Argument> list;
    for (std::vector<std::int32_t> &matrix : matrices_) {
      Argument argument;
      argument.data = reinterpret_cast<std::byte *>(matrix.data());
      argument.bytes = kRows * kColumns * 4;
      argument.extents = {kRows, kColumns};
      argument.strides = {kColumns, 1};
      list.push_back(argument);
    }
    list.push_back({.scalar = index});
    return list;
  }
  bool operator==(const Matrices &) const = default;

private:
  std::array<std::vector<std::int32_t>, 2> matrices_;
};

Matrices after(const Kernel &kernel, std::uint64_t index) {
  Matrices matrices;
  Diagnostics diagnostics;
  REQUIRE_MESSAGE(interpret::run(kernel, {}, matrices.arguments(index), diagnostics),
                  diagnostics.render());
  return matrices;
}

std::string kernelOf(const std::string &ops) {
  return "kernel @k(%x: view<const i32, 2>, %y: view<i32, 2>, %i: i32) stage tiles {\n"
         "%z = constant 0 : i32\n%wide = cast %i : i64\n" +
         ops + "}\n";
}

std::string load(const std::string &name, const std::string &view, const std::string &rest) {
  return name + " = view.load " + view + ", " + rest + "\n";
}

} // namespace

TEST_CASE("part by part the same is stored, wherever the box is") {
  for (const std::string unit : {"tiles", "elements"})
    for (const std::string shape : {"4x16384", "64x1024", "1x65536", "2x49152"}) {
      const std::string tile = " : i32[" + shape + "]", box = " [unit = " + unit + "]";
      const std::string text = kernelOf(
          "%seven = constant 7 : i32\n" +
          load("%a", "%x", "%z, %i, %seven [padding = value, unit = " + unit + "]" + tile) +
          load("%b", "%y", "%i, %z" + box + tile) + "%s = add %i, %i : i32\n%c = broadcast %s" +
          tile + "\n%d = mul %a, %c" + tile + "\n%e = sub %d, %b" + tile +
          "\nview.store %y, %e, %i, %z" + box);
      for (const std::int64_t index : {0, 1, 3, -1, -20000, 16384, 0x7fffffff, -0x7fffffff - 1}) {
        CAPTURE(text);
        CAPTURE(index);
        Kernel kernel = parsedKernel(text);
        const auto bits = static_cast<std::uint32_t>(index);
        const Matrices meant = after(kernel, bits);
        REQUIRE(isLooped(kernel));
        CHECK((after(kernel, bits) == meant));
      }
    }
}

TEST_CASE("what other parts or others would see stays whole") {
  const std::string tile = " : i32[4x16384]\n", at = "%i, %z",
                    stored = "view.store %y, %b, %i, %z\n";
  const std::string loaded = load("%a", "%x", at + tile), doubled = "%b = add %a, %a" + tile;
  const std::string chain = loaded + doubled + stored;
  const auto loops = [](const std::string &ops, bool areDisjoint = true) {
    CAPTURE(ops);
    Kernel kernel = parsedKernel(kernelOf(ops));
    return isLooped(kernel, areDisjoint);
  };
  CHECK(loops(chain));
  CHECK_FALSE(loops(chain, false));                             // the views may overlap
  CHECK(loops(load("%a", "%y", at + tile) + doubled + stored)); // the same box
  CHECK_FALSE(loops(load("%a", "%y", "%z, %i" + tile) + doubled + stored));
  CHECK_FALSE(loops(load("%a", "%y", at + " [unit = elements]" + tile) + doubled + stored));
  CHECK_FALSE(loops(loaded + doubled + stored + "view.store %y, %a, %z, %i\n"));
  CHECK_FALSE(loops(chain + "print %b\n"));                     // behind it
  CHECK_FALSE(loops(loaded + "print %i\n" + doubled + stored)); // amid it
  CHECK_FALSE(loops(loaded + doubled));
  // A number of all parts.
  const std::string sum = "%s = reduce %a [axis = 1] : i32[4]\n%t = reduce %s [axis = 0] : i32\n";
  CHECK(loops(loaded + sum + "%b = broadcast %t" + tile + stored));
  CHECK_FALSE(loops(loaded + sum + "%c = broadcast %t" + tile + "%b = add %a, %c" + tile + stored));
  CHECK_FALSE(loops(loaded + "%s = constant 0 : i32\n%b = add %a, %a" + tile + stored +
                    "%t = reduce %b [axis = 1] : i32[4]\nprint %t\n"));
  CHECK_FALSE(loops(load("%a", "%x", "%wide, %z" + tile) + doubled + stored)); // 64 bits
  const auto ofShape = [&](const std::string &shape) {
    const std::string other = " : i32[" + shape + "]\n";
    return loops(load("%a", "%x", at + other) + "%b = add %a, %a" + other + stored);
  };
  CHECK(ofShape("8x8192"));
  CHECK(ofShape("8x4097"));       // padded to 65536
  CHECK_FALSE(ofShape("4x8192")); // which is not crowded
  CHECK_FALSE(ofShape("7x8193")); // which nothing divides
}

TEST_CASE("an explanation says what is worked on in parts, and from which line on") {
  Kernel kernel = parsedKernel(
      kernelOf(load("%a", "%x", "%i, %z : i32[4x16384]") + "view.store %y, %a, %i, %z\n"));
  Diagnostics diagnostics;
  std::string explanation;
  passes::PassContext context(diagnostics, machine::hostMachine(),
                              analysis::usualAssumptions(kernel));
  context.explanation = &explanation;
  passes::loopOverParts(kernel, context);
  CHECK(explanation == "tiles [4x16384], from k.imx:4 on, crowd the registers: a loop over 8 parts "
                       "of [4x2048]\n");
}
