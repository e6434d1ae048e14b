// What holds of every row. That fragments are the vendors' is tested with the emulator, which
// states their formulas a second time (tests/unit/emulate/fragments_test.cpp).

#include "backend/layout/algebra.h"
#include "backend/layout/layout_text.h"
#include "backend/machine/mma.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <tuple>

namespace machine = imbrex::machine;
namespace layout = imbrex::layout;
using layout::Bits;
using layout::Dim;
using layout::LinearLayout;
using machine::FragmentForm;
using machine::MatrixElement;
using machine::MmaInstruction;
using machine::MmaOperand;

namespace {

bool isMmaSync(const MmaInstruction &x) { return llvm::StringRef(x.intrinsic).starts_with("nvvm"); }
bool isOf(const MmaInstruction &x, const char *machineName) {
  return machine::hasInstruction(*machine::findMachine(machineName), x);
}

} // namespace

TEST_CASE("a fragment reads as docs/matrix-units.md has it") {
  const auto *x = llvm::find_if(machine::allMmaInstructions(), [](const MmaInstruction &row) {
    return row.intrinsic == "nvvm.mma.m16n8k16.row.col.f32.f32";
  });
  REQUIRE(x != machine::allMmaInstructions().end());
  CHECK(layout::toText(machine::fragmentOf(*x, MmaOperand::A)) ==
        "register [[0,1],[8,0],[0,8]] lane [[0,2],[0,4],[1,0],[2,0],[4,0]] of [16x16]");
}

TEST_CASE("a fragment has every element once, but for the half-waves that gfx11 has copies in") {
  for (const MmaInstruction &x : machine::allMmaInstructions()) {
    CAPTURE(std::string(x.intrinsic));
    for (const MmaOperand operand : {MmaOperand::A, MmaOperand::B, MmaOperand::Sums}) {
      const LinearLayout fragment = machine::fragmentOf(x, operand);
      CHECK(layout::isSurjective(fragment));
      const bool isMirrored = x.form == FragmentForm::WmmaMirrored && operand != MmaOperand::Sums;
      CHECK(layout::isBijective(fragment) == !isMirrored);
      if (isMirrored) CHECK(fragment.columns(Dim::Lane).back() == 0);
      CHECK(llvm::count(fragment.columns(), Bits{0}) == (isMirrored ? 1 : 0));
    }
  }
}

TEST_CASE("rows name machines that exist, and no machine has the same product twice") {
  using Product = std::tuple<std::string_view, std::string_view, MatrixElement, MatrixElement,
                             MatrixElement, int>;
  std::set<Product> products;
  for (const MmaInstruction &x : machine::allMmaInstructions()) {
    CAPTURE(std::string(x.intrinsic));
    std::size_t named = 0;
    for (const machine::Machine &m : machine::allMachines()) {
      if (!machine::hasInstruction(m, x)) continue;
      ++named;
      CHECK(m.warpSize == machine::lanesOf(x));
      CHECK((m.family == machine::Family::Nvptx) == isMmaSync(x));
      CHECK(products.insert({m.name, x.intrinsic, x.a, x.b, x.scale.element, x.scale.k}).second);
    }
    CHECK(named == llvm::StringRef(x.machines).count(' ') - 1);
    CHECK(named > 0);
  }
}

TEST_CASE("numbers of a row fit together") {
  for (const MmaInstruction &x : machine::allMmaInstructions()) {
    CAPTURE(std::string(x.intrinsic));
    const machine::SumRules &rules = x.sumRules;
    CHECK((rules.summation == machine::Summation::Exact) == (x.sums == MatrixElement::I32));
    CHECK((rules.fractionBits > 0) == (rules.summation == machine::Summation::Aligned));
    CHECK(rules.terms <= x.k);
    if (rules.terms > 0) CHECK(x.k % rules.terms == 0);
    CHECK(rules.flushesSubnormals == (isOf(x, "gfx90a") && machine::bitsOf(x.a) == 16));
    CHECK((x.cycles == 0 || x.cycles >= 8));
    CHECK((!isMmaSync(x) || x.cycles == 0));
    CHECK((isMmaSync(x) || x.ptx == 0));
  }
}

TEST_CASE("machines with matrix units have instructions, and the others none") {
  for (const machine::Machine &m : machine::allMachines()) {
    CAPTURE(std::string(m.name));
    CHECK(machine::mmaInstructionsOf(m).empty() == (m.name == "gfx1030"));
    for (const MmaInstruction *x : machine::mmaInstructionsOf(m))
      CHECK(machine::hasInstruction(m, *x));
  }
  CHECK(machine::mmaInstructionsOf(machine::hostMachine()).empty());
  const auto first = machine::mmaInstructionsOf(*machine::findMachine("sm_75"));
  CHECK(first.size() == 6);
  CHECK(first.front()->intrinsic == "nvvm.mma.m16n8k8.row.col.f16.f16");
}

TEST_CASE("names of element types are those of the language, and tf32") {
  CHECK(machine::nameOf(MatrixElement::F16) == "f16");
  CHECK(machine::nameOf(MatrixElement::Tf32) == "tf32");
  CHECK(machine::nameOf(MatrixElement::F4E2M1) == "f4e2m1");
  CHECK(machine::nameOf(MatrixElement::E8M0) == "e8m0");
  CHECK(machine::bitsOf(MatrixElement::F4E2M1) == 4);
  CHECK(machine::bitsOf(MatrixElement::E8M0) == 8);
}
