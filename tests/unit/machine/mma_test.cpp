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

TEST_CASE("an instruction takes its row's cycles, or those that its machine's rate makes") {
  const auto cyclesOf = [](const char *name, const char *intrinsic, MatrixElement a,
                           MatrixElement sums, machine::BlockScale scale = {}) {
    const machine::Machine &m = *machine::findMachine(name);
    const MmaInstruction *x = machine::findMmaInstruction(m, intrinsic, {a, a, sums}, scale);
    REQUIRE(x);
    return machine::unitCycles(m, *x);
  };
  const char *half = "nvvm.mma.m16n8k16.row.col.bf16";
  using enum MatrixElement;
  // 2048 products on a fourth of the core's 1024, 512, 2048 and 256 a cycle.
  CHECK(cyclesOf("sm_80", half, BF16, F32).cycles == 8);
  CHECK(cyclesOf("sm_89", half, BF16, F32).cycles == 16);
  CHECK(cyclesOf("sm_90a", half, BF16, F32).cycles == 4);
  CHECK(cyclesOf("sm_120a", half, BF16, F32).cycles == 32);
  CHECK(cyclesOf("sm_80", "nvvm.mma.m16n8k32.row.col.s8", I8, I32).cycles == 8);
  CHECK(cyclesOf("sm_80", "nvvm.mma.m8n8k4.row.col.f64", F64, F64).cycles == 16);
  CHECK(cyclesOf("sm_80", half, BF16, F32).isKnown);
  CHECK_FALSE(cyclesOf("sm_100a", half, BF16, F32).isKnown);
  CHECK(cyclesOf("gfx942", "amdgcn.mfma.f32.32x32x8bf16.1k", BF16, F32).cycles == 32);
  // An f4 in a byte is as slow as an f8; packed ones are twice as deep, in half the time.
  CHECK(cyclesOf("sm_120a", "nvvm.mma.m16n8k32.row.col.kind.f8f6f4.f32.e2m1.e2m1.f32", F4E2M1, F32)
            .cycles == 32);
  const char *packed =
      "nvvm.mma.block.scale.m16n8k64.row.col.mxf4.scale.2x.f32.e2m1.e2m1.f32.ue8m0";
  CHECK(cyclesOf("sm_120a", packed, F4E2M1, F32, {E8M0, 32}).cycles == 16);
}

TEST_CASE("cycles of units are whole, and known but where no document has them") {
  for (const machine::Machine &m : machine::allMachines())
    for (const MmaInstruction *x : machine::mmaInstructionsOf(m)) {
      CAPTURE(std::string(m.name));
      CAPTURE(std::string(x->intrinsic));
      const machine::UnitCycles cycles = machine::unitCycles(m, *x);
      CHECK(cycles.cycles > 0);
      if (x->cycles > 0) CHECK((cycles.cycles == x->cycles && cycles.isKnown));
      if (llvm::StringRef(m.name).starts_with("sm_10")) CHECK_FALSE(cycles.isKnown);
      const std::int64_t products = std::int64_t{x->m} * x->n * x->k;
      CHECK(products % cycles.cycles == 0);
      const bool isCommon = x->a == MatrixElement::F16 || x->a == MatrixElement::BF16;
      if (isCommon && isMmaSync(*x) && !llvm::StringRef(m.name).starts_with("sm_10"))
        CHECK(cycles.isKnown);
    }
}
