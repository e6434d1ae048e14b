// Fragments against the vendors' own formulas, written a second time: element by element, as the
// documents have them.

#include "backend/layout/algebra.h"
#include "backend/layout/layout_text.h"
#include "backend/machine/mma.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

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

struct Place {
  int row = 0, column = 0;
  friend bool operator==(const Place &, const Place &) = default;
};

Place placeOf(const LinearLayout &fragment, int element, int lane) {
  const int registerBits = fragment.inputBits(Dim::Register);
  const Bits at = fragment.apply(static_cast<Bits>(element | lane << registerBits));
  return {static_cast<int>(fragment.outputPart(at, Dim::Axis0)),
          static_cast<int>(fragment.outputPart(at, Dim::Axis1))};
}

int elementsOf(const LinearLayout &fragment) { return 1 << fragment.inputBits(Dim::Register); }

bool isMmaSync(const MmaInstruction &x) { return llvm::StringRef(x.intrinsic).starts_with("nvvm"); }
bool isOf(const MmaInstruction &x, const char *machineName) {
  return machine::hasInstruction(*machine::findMachine(machineName), x);
}
bool hasName(const MmaInstruction &x, const char *part) {
  return llvm::StringRef(x.intrinsic).contains(part);
}

// Parallel Thread Execution ISA 9.0, 9.7.14.5, "Matrix Fragments for …": the row and the column of
// a_i, b_i and c_i. The names are the document's.
namespace ptx {

struct Lane {
  explicit Lane(int laneid) : groupID(laneid >> 2), threadID_in_group(laneid % 4) {}
  int groupID, threadID_in_group;
};

/// mma.m8n8k4 with .f64.
Place a8x4(Lane t, int /*i*/) { return {t.groupID, t.threadID_in_group}; }
Place b4x8(Lane t, int /*i*/) { return {t.threadID_in_group, t.groupID}; }
/// mma.m8n8k16.
Place a8x16(Lane t, int i) { return {t.groupID, t.threadID_in_group * 4 + i}; }
Place b16x8Bytes(Lane t, int i) { return {t.threadID_in_group * 4 + i, t.groupID}; }
/// mma.m16n8k4 with .tf32 and with .f64.
Place a16x4(Lane t, int i) { return {i == 0 ? t.groupID : t.groupID + 8, t.threadID_in_group}; }
/// mma.m16n8k8 with .f16 and .bf16.
Place a16x8Halves(Lane t, int i) {
  return {i < 2 ? t.groupID : t.groupID + 8, t.threadID_in_group * 2 + (i & 1)};
}
Place b8x8Halves(Lane t, int i) { return {t.threadID_in_group * 2 + i, t.groupID}; }
/// mma.m16n8k8 with .tf32 and with .f64.
Place a16x8Words(Lane t, int i) {
  return {i == 0 || i == 2 ? t.groupID : t.groupID + 8,
          i < 2 ? t.threadID_in_group : t.threadID_in_group + 4};
}
Place b8x8Words(Lane t, int i) {
  return {i == 0 ? t.threadID_in_group : t.threadID_in_group + 4, t.groupID};
}
/// mma.m16n8k16 with .f16 and .bf16.
Place a16x16Halves(Lane t, int i) {
  return {(0 <= i && i < 2) || (4 <= i && i < 6) ? t.groupID : t.groupID + 8,
          t.threadID_in_group * 2 + (i & 1) + (i < 4 ? 0 : 8)};
}
Place b16x8Halves(Lane t, int i) {
  return {t.threadID_in_group * 2 + (i & 1) + (i < 2 ? 0 : 8), t.groupID};
}
/// mma.m16n8k16 with .f64.
Place a16x16Doubles(Lane t, int i) {
  return i % 2 == 0 ? Place{t.groupID, i * 2 + t.threadID_in_group}
                    : Place{t.groupID + 8, i * 2 - 2 + t.threadID_in_group};
}
Place b16x8Doubles(Lane t, int i) { return {t.threadID_in_group + i * 4, t.groupID}; }
/// mma.m16n8k16 with .s8, .u8, .e4m3, .e5m2.
Place a16x16Bytes(Lane t, int i) {
  return {i < 4 ? t.groupID : t.groupID + 8, t.threadID_in_group * 4 + (i & 3)};
}
/// mma.m16n8k32 with the same, and with .e2m1 of kind::f8f6f4 and kind::mxf8f6f4.
Place a16x32(Lane t, int i) {
  return {(0 <= i && i < 4) || (8 <= i && i < 12) ? t.groupID : t.groupID + 8,
          t.threadID_in_group * 4 + (i & 3) + (i < 8 ? 0 : 16)};
}
Place b32x8(Lane t, int i) {
  return {t.threadID_in_group * 4 + (i & 3) + (i < 4 ? 0 : 16), t.groupID};
}
/// mma.m16n8k64 with .e2m1.
Place a16x64(Lane t, int i) {
  return {(0 <= i && i < 8) || (16 <= i && i < 24) ? t.groupID : t.groupID + 8,
          t.threadID_in_group * 8 + (i & 7) + (i < 16 ? 0 : 32)};
}
Place b64x8(Lane t, int i) {
  return {t.threadID_in_group * 8 + (i & 7) + (i < 8 ? 0 : 32), t.groupID};
}
/// The accumulators of all.
Place c8x8(Lane t, int i) { return {t.groupID, t.threadID_in_group * 2 + i}; }
Place c16x8(Lane t, int i) {
  return {i < 2 ? t.groupID : t.groupID + 8, t.threadID_in_group * 2 + (i & 1)};
}

using Formula = Place (*)(Lane, int);
struct Formulas {
  int m, k, bits; ///< Of an element of A and B in their registers.
  int aElements, bElements;
  Formula a, b;
};
constexpr Formulas kAll[] = {
    {8, 4, 64, 1, 1, a8x4, b4x8},
    {8, 16, 8, 4, 4, a8x16, b16x8Bytes},
    {16, 4, 32, 2, 1, a16x4, b4x8},
    {16, 4, 64, 2, 1, a16x4, b4x8},
    {16, 8, 16, 4, 2, a16x8Halves, b8x8Halves},
    {16, 8, 32, 4, 2, a16x8Words, b8x8Words},
    {16, 8, 64, 4, 2, a16x8Words, b8x8Words},
    {16, 16, 16, 8, 4, a16x16Halves, b16x8Halves},
    {16, 16, 64, 8, 4, a16x16Doubles, b16x8Doubles},
    {16, 16, 8, 8, 4, a16x16Bytes, b16x8Bytes},
    {16, 32, 8, 16, 8, a16x32, b32x8},
    {16, 64, 4, 32, 16, a16x64, b64x8},
};

const Formulas *formulasOf(const MmaInstruction &x) {
  const auto *found = llvm::find_if(kAll, [&](const Formulas &f) {
    return f.m == x.m && f.k == x.k && f.bits == machine::strideBits(x, MmaOperand::A);
  });
  return found == std::end(kAll) ? nullptr : found;
}

} // namespace ptx

// AMD Matrix Instruction Calculator: from the coordinate of an element to its register and lanes;
// of gfx950 and gfx1250, which it does not have, Composable Kernel (mma.def says where).
namespace amd {

struct At {
  int element = 0; ///< In registers from the lowest bit on.
  std::set<int> lanes;
  friend bool operator==(const At &, const At &) = default;
};

/// Neighbours along k that a lane has in a row, before k goes on in another lane.
int neighbours(const MmaInstruction &x, MatrixElement element, int lanesAlongK) {
  if (hasName(x, "f8f6f4") || hasName(x, "128.f4"))
    return element == MatrixElement::F4E2M1 ? 32 : 16;
  if (isOf(x, "gfx1250")) return x.k == 4 ? 2 : 8;
  return x.k / lanesAlongK;
}

/// Of A with `i` its row, of B with `i` its column.
At operandAt(const MmaInstruction &x, MatrixElement element, int extent, int i, int k) {
  if (isOf(x, "gfx1100")) return {.element = k, .lanes = {i, i + 16}};
  const int wave = hasName(x, "mfma") ? 64 : 32;
  const int across = wave == 64 ? extent : 16;
  const int lanesAlongK = wave / across;
  const int run = neighbours(x, element, lanesAlongK);
  const int round = k / (run * lanesAlongK);
  const int rounds = x.k / (run * lanesAlongK);
  return {.element = k % run + run * (round + rounds * (i / across)),
          .lanes = {i % across + across * (k / run % lanesAlongK)}};
}

/// Of C and D.
At sumAt(const MmaInstruction &x, int i, int j) {
  if (hasName(x, "f64")) return {.element = i / 4, .lanes = {16 * (i % 4) + j}};
  if (hasName(x, "mfma") && x.m == 16) return {.element = i % 4, .lanes = {16 * (i / 4) + j}};
  if (hasName(x, "mfma")) return {.element = 4 * (i / 8) + i % 4, .lanes = {32 * (i / 4 % 2) + j}};
  if (isOf(x, "gfx1100")) return {.element = i / 2, .lanes = {16 * (i % 2) + j}};
  return {.element = 8 * (i / 16) + i % 8, .lanes = {16 * (i / 8 % 2) + j}};
}

/// Where a fragment has each element, by row and column.
std::map<std::pair<int, int>, At> foundIn(const LinearLayout &fragment, int lanes) {
  std::map<std::pair<int, int>, At> found;
  for (int lane = 0; lane < lanes; ++lane)
    for (int element = 0; element < elementsOf(fragment); ++element) {
      const Place place = placeOf(fragment, element, lane);
      At &at = found.try_emplace({place.row, place.column}, At{element, {}}).first->second;
      CHECK(at.element == element);
      at.lanes.insert(lane);
    }
  return found;
}

} // namespace amd

} // namespace

TEST_CASE("fragments of mma.sync are those of the PTX ISA") {
  for (const MmaInstruction &x : machine::allMmaInstructions()) {
    if (!isMmaSync(x)) continue;
    CAPTURE(std::string(x.intrinsic));
    const ptx::Formulas *formulas = ptx::formulasOf(x);
    REQUIRE(formulas != nullptr);
    CHECK(machine::strideBits(x, MmaOperand::B) == formulas->bits);
    CHECK(machine::lanesOf(x) == 32);
    const ptx::Formula c = x.m == 8 ? ptx::c8x8 : ptx::c16x8;
    const std::tuple<MmaOperand, ptx::Formula, int> operands[] = {
        {MmaOperand::A, formulas->a, formulas->aElements},
        {MmaOperand::B, formulas->b, formulas->bElements},
        {MmaOperand::Sums, c, x.m / 4}};
    for (const auto &[operand, formula, elements] : operands) {
      const LinearLayout fragment = machine::fragmentOf(x, operand);
      REQUIRE(elementsOf(fragment) == elements);
      REQUIRE(fragment.inputBits(Dim::Lane) == 5);
      for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < elements; ++i)
          CHECK(placeOf(fragment, i, lane) == formula(ptx::Lane(lane), i));
    }
  }
}

TEST_CASE("fragments of MFMA and WMMA are those of AMD's calculator and libraries") {
  for (const MmaInstruction &x : machine::allMmaInstructions()) {
    if (isMmaSync(x)) continue;
    CAPTURE(std::string(x.intrinsic));
    const int lanes = machine::lanesOf(x);
    CHECK(lanes == (hasName(x, "mfma") ? 64 : 32));
    auto a = amd::foundIn(machine::fragmentOf(x, MmaOperand::A), lanes);
    auto b = amd::foundIn(machine::fragmentOf(x, MmaOperand::B), lanes);
    auto sums = amd::foundIn(machine::fragmentOf(x, MmaOperand::Sums), lanes);
    for (int k = 0; k < x.k; ++k) {
      for (int i = 0; i < x.m; ++i) CHECK(a[{i, k}] == amd::operandAt(x, x.a, x.m, i, k));
      for (int j = 0; j < x.n; ++j) CHECK(b[{k, j}] == amd::operandAt(x, x.b, x.n, j, k));
    }
    for (int i = 0; i < x.m; ++i)
      for (int j = 0; j < x.n; ++j) CHECK(sums[{i, j}] == amd::sumAt(x, i, j));
  }
}

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

TEST_CASE("scales lie where the selectors find them") {
  for (const MmaInstruction &x : machine::allMmaInstructions()) {
    if (!x.isScaled()) continue;
    CAPTURE(std::string(x.intrinsic));
    REQUIRE(x.k % x.scale.k == 0);
    const LinearLayout a = machine::fragmentOf(x, MmaOperand::ScaleA);
    const LinearLayout b = machine::fragmentOf(x, MmaOperand::ScaleB);
    CHECK(layout::isSurjective(a));
    CHECK(layout::isSurjective(b));
    const int blocks = x.k / x.scale.k;
    const bool isMfma = hasName(x, "mfma");
    REQUIRE(elementsOf(a) == (isMfma ? 1 : blocks));
    REQUIRE(elementsOf(b) == elementsOf(a));
    for (int lane = 0; lane < machine::lanesOf(x); ++lane)
      for (int i = 0; i < elementsOf(a); ++i) {
        if (isMmaSync(x)) {
          // PTX ISA 9.0, 9.7.14.3: lanes 0 and 1, or 2 and 3, of a quad for A, any one for B. Which
          // rows: CUTLASS, mma_traits_sm120.hpp, SFALayout and SFBLayout.
          CHECK(placeOf(a, i, lane) == Place{lane / 4 + 8 * (lane % 2), i});
          CHECK(placeOf(b, i, lane) == Place{i, lane / 4});
        } else if (isMfma) {
          CHECK(placeOf(a, i, lane) == Place{lane % x.m, lane / x.m});
          CHECK(placeOf(b, i, lane) == Place{lane / x.n, lane % x.n});
        } else {
          CHECK(placeOf(a, i, lane) == Place{lane % x.m, i});
          CHECK(placeOf(b, i, lane) == Place{i, lane % x.n});
        }
      }
  }
}

TEST_CASE("an element narrower than its place stands where the unit looks for it") {
  for (const MmaInstruction &x : machine::allMmaInstructions()) {
    CAPTURE(std::string(x.intrinsic));
    const bool hasF4 = x.a == MatrixElement::F4E2M1;
    // CUTLASS, mma_traits_sm120.hpp, fp4_shift_A: 0b00ABCD00.
    const bool inByte = hasF4 && isMmaSync(x) && x.k == 32;
    CHECK(machine::firstBit(x, MmaOperand::A) == (inByte ? 2 : 0));
    CHECK(machine::strideBits(x, MmaOperand::A) == (inByte ? 8 : machine::bitsOf(x.a)));
    // The calculator, rdna3: a sum of 16 bits has a register of its own.
    const bool isLoose = isOf(x, "gfx1100") && machine::bitsOf(x.sums) == 16;
    CHECK(machine::strideBits(x, MmaOperand::Sums) == (isLoose ? 32 : machine::bitsOf(x.sums)));
    CHECK(machine::firstBit(x, MmaOperand::Sums) == 0);
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
