#include "backend/emulate/model/fragments.h"

#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/TargetParser/TargetParser.h"

#include <iterator>

namespace imbrex::emulate {

using machine::Machine;
using machine::MatrixElement;
using machine::MmaInstruction;
using machine::MmaOperand;

namespace {

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
MatrixPlace a8x4(Lane t, int /*i*/) { return {t.groupID, t.threadID_in_group}; }
MatrixPlace b4x8(Lane t, int /*i*/) { return {t.threadID_in_group, t.groupID}; }
/// mma.m8n8k16.
MatrixPlace a8x16(Lane t, int i) { return {t.groupID, t.threadID_in_group * 4 + i}; }
MatrixPlace b16x8Bytes(Lane t, int i) { return {t.threadID_in_group * 4 + i, t.groupID}; }
/// mma.m16n8k4 with .tf32 and with .f64.
MatrixPlace a16x4(Lane t, int i) {
  return {i == 0 ? t.groupID : t.groupID + 8, t.threadID_in_group};
}
/// mma.m16n8k8 with .f16 and .bf16.
MatrixPlace a16x8Halves(Lane t, int i) {
  return {i < 2 ? t.groupID : t.groupID + 8, t.threadID_in_group * 2 + (i & 1)};
}
MatrixPlace b8x8Halves(Lane t, int i) { return {t.threadID_in_group * 2 + i, t.groupID}; }
/// mma.m16n8k8 with .tf32 and with .f64.
MatrixPlace a16x8Words(Lane t, int i) {
  return {i == 0 || i == 2 ? t.groupID : t.groupID + 8,
          i < 2 ? t.threadID_in_group : t.threadID_in_group + 4};
}
MatrixPlace b8x8Words(Lane t, int i) {
  return {i == 0 ? t.threadID_in_group : t.threadID_in_group + 4, t.groupID};
}
/// mma.m16n8k16 with .f16 and .bf16.
MatrixPlace a16x16Halves(Lane t, int i) {
  return {(0 <= i && i < 2) || (4 <= i && i < 6) ? t.groupID : t.groupID + 8,
          t.threadID_in_group * 2 + (i & 1) + (i < 4 ? 0 : 8)};
}
MatrixPlace b16x8Halves(Lane t, int i) {
  return {t.threadID_in_group * 2 + (i & 1) + (i < 2 ? 0 : 8), t.groupID};
}
/// mma.m16n8k16 with .f64.
MatrixPlace a16x16Doubles(Lane t, int i) {
  return i % 2 == 0 ? MatrixPlace{t.groupID, i * 2 + t.threadID_in_group}
                    : MatrixPlace{t.groupID + 8, i * 2 - 2 + t.threadID_in_group};
}
MatrixPlace b16x8Doubles(Lane t, int i) { return {t.threadID_in_group + i * 4, t.groupID}; }
/// mma.m16n8k16 with .s8, .u8, .e4m3, .e5m2.
MatrixPlace a16x16Bytes(Lane t, int i) {
  return {i < 4 ? t.groupID : t.groupID + 8, t.threadID_in_group * 4 + (i & 3)};
}
/// mma.m16n8k32 with the same, and with .e2m1 of kind::f8f6f4 and kind::mxf8f6f4.
MatrixPlace a16x32(Lane t, int i) {
  return {(0 <= i && i < 4) || (8 <= i && i < 12) ? t.groupID : t.groupID + 8,
          t.threadID_in_group * 4 + (i & 3) + (i < 8 ? 0 : 16)};
}
MatrixPlace b32x8(Lane t, int i) {
  return {t.threadID_in_group * 4 + (i & 3) + (i < 4 ? 0 : 16), t.groupID};
}
/// mma.m16n8k64 with .e2m1.
MatrixPlace a16x64(Lane t, int i) {
  return {(0 <= i && i < 8) || (16 <= i && i < 24) ? t.groupID : t.groupID + 8,
          t.threadID_in_group * 8 + (i & 7) + (i < 16 ? 0 : 32)};
}
MatrixPlace b64x8(Lane t, int i) {
  return {t.threadID_in_group * 8 + (i & 7) + (i < 8 ? 0 : 32), t.groupID};
}
/// The accumulators of all.
MatrixPlace c8x8(Lane t, int i) { return {t.groupID, t.threadID_in_group * 2 + i}; }
MatrixPlace c16x8(Lane t, int i) {
  return {i < 2 ? t.groupID : t.groupID + 8, t.threadID_in_group * 2 + (i & 1)};
}

using Formula = MatrixPlace (*)(Lane, int);
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

/// kind::f8f6f4 and kind::mxf8f6f4: each element is in a container of a byte.
bool hasContainers(const MmaInstruction &x) { return hasName(x, "f8f6f4"); }

int bitsInRegister(const MmaInstruction &x, MatrixElement element) {
  return hasContainers(x) ? 8 : machine::bitsOf(element);
}

const Formulas &formulasOf(const MmaInstruction &x) {
  const auto *found = llvm::find_if(kAll, [&](const Formulas &f) {
    return f.m == x.m && f.k == x.k && f.bits == bitsInRegister(x, x.a);
  });
  IMBREX_CHECK(found != std::end(kAll), "no fragments are known of '{0}'", x.intrinsic);
  return *found;
}

Fragment fragmentBy(Formula formula, int elements, int stride) {
  Fragment fragment{.elements = elements, .stride = stride, .firstBit = 0, .places = {}};
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < elements; ++i) fragment.places.push_back(formula(Lane(lane), i));
  return fragment;
}

Fragment operand(const MmaInstruction &x, MatrixElement element, Formula formula, int elements) {
  Fragment fragment = fragmentBy(formula, elements, bitsInRegister(x, element));
  // CUTLASS, mma_traits_sm120.hpp, fp4_shift_A: 0b00ABCD00.
  if (hasContainers(x) && element == MatrixElement::F4E2M1) fragment.firstBit = 2;
  return fragment;
}

Fragment fragmentOf(const MmaInstruction &x, MmaOperand of) {
  const Formulas &formulas = formulasOf(x);
  switch (of) {
  case MmaOperand::A: return operand(x, x.a, formulas.a, formulas.aElements);
  case MmaOperand::B: return operand(x, x.b, formulas.b, formulas.bElements);
  case MmaOperand::Sums:
    return fragmentBy(x.m == 8 ? c8x8 : c16x8, x.m / 4, machine::bitsOf(x.sums));
  case MmaOperand::ScaleA:
  case MmaOperand::ScaleB: break;
  }
  IMBREX_UNREACHABLE("operand");
}

/// 9.7.14.3, "Block Scaling": a pair of lanes of each quad has the scales of A, one lane those of
/// B. Which rows: CUTLASS, mma_traits_sm120.hpp, SFALayout and SFBLayout.
ScalePlace scaleOf(bool ofA, ScaleSelectors selectors, int outer, int block) {
  const int byte = selectors.byte + block;
  if (ofA) return {4 * (outer % 8) + 2 * selectors.lane + outer / 8, byte};
  return {4 * outer + selectors.lane, byte};
}

/// The same, table of byte-id and thread-id by the number of scales along k.
bool hasSelectors(const MmaInstruction &x, bool ofA, ScaleSelectors selectors) {
  const int scales = x.k / x.scale.k;
  return selectors.byte >= 0 && selectors.byte % scales == 0 && selectors.byte + scales <= 4 &&
         selectors.lane >= 0 && selectors.lane < (ofA ? 2 : 4);
}

} // namespace ptx

// AMD Matrix Instruction Calculator: from the coordinate of an element to its register and lanes;
// of gfx950 and gfx1250, which it does not have, Composable Kernel (mma.def says where).
namespace amd {

struct At {
  int element = 0; ///< In registers from the lowest bit on.
  int lane = 0;
  int copy = 0; ///< Another lane that must have the same; the lane itself: none.
};

/// Which of AMD's units it is.
struct Unit {
  explicit Unit(const Machine &machine) {
    const llvm::AMDGPU::IsaVersion version = llvm::AMDGPU::getIsaVersion(machine.cpu);
    isGfx11 = version.Major == 11;
    isGfx1250 = version.Major == 12 && version.Minor >= 5;
  }
  bool isGfx11 = false, isGfx1250 = false;
};

/// Neighbours along k that a lane has in a row, before k goes on in another lane.
int neighbours(Unit unit, const MmaInstruction &x, MatrixElement element, int lanesAlongK) {
  if (hasName(x, "f8f6f4") || hasName(x, "128.f4"))
    return element == MatrixElement::F4E2M1 ? 32 : 16;
  if (unit.isGfx1250) return x.k == 4 ? 2 : 8;
  return x.k / lanesAlongK;
}

/// Of A with `i` its row, of B with `i` its column.
At operandAt(Unit unit, const MmaInstruction &x, MatrixElement element, int extent, int i, int k) {
  if (unit.isGfx11) return {.element = k, .lane = i, .copy = i + 16};
  const int wave = hasName(x, "mfma") ? 64 : 32;
  const int across = wave == 64 ? extent : 16;
  const int lanesAlongK = wave / across;
  const int run = neighbours(unit, x, element, lanesAlongK);
  const int round = k / (run * lanesAlongK);
  const int rounds = x.k / (run * lanesAlongK);
  const int lane = i % across + across * (k / run % lanesAlongK);
  return {.element = k % run + run * (round + rounds * (i / across)), .lane = lane, .copy = lane};
}

/// Of C and D.
At sumAt(Unit unit, const MmaInstruction &x, int i, int j) {
  const auto at = [](int element, int lane) { return At{element, lane, lane}; };
  if (hasName(x, "f64")) return at(i / 4, 16 * (i % 4) + j);
  if (hasName(x, "mfma") && x.m == 16) return at(i % 4, 16 * (i / 4) + j);
  if (hasName(x, "mfma")) return at(4 * (i / 8) + i % 4, 32 * (i / 4 % 2) + j);
  if (unit.isGfx11) return at(i / 2, 16 * (i % 2) + j);
  return at(8 * (i / 16) + i % 8, 16 * (i / 8 % 2) + j);
}

/// Every element of a matrix at the lanes and the register that `at` gives.
template <class AtFunction>
Fragment fragmentBy(MatrixPlace extents, int lanes, int elements, AtFunction &&at) {
  Fragment fragment{.elements = elements, .stride = 0, .firstBit = 0, .places = {}};
  fragment.places.resize(static_cast<std::size_t>(lanes * elements));
  for (int row = 0; row < extents.row; ++row)
    for (int column = 0; column < extents.column; ++column) {
      const At where = at(row, column);
      for (const int lane : {where.lane, where.copy})
        fragment.places[static_cast<std::size_t>(lane * elements + where.element)] = {row, column};
    }
  return fragment;
}

Fragment fragmentOf(Unit unit, const MmaInstruction &x, MmaOperand of) {
  const int lanes = hasName(x, "mfma") ? 64 : 32, copies = unit.isGfx11 ? 2 : 1;
  switch (of) {
  case MmaOperand::A: {
    auto a = fragmentBy({x.m, x.k}, lanes, copies * x.m * x.k / lanes,
                        [&](int i, int k) { return operandAt(unit, x, x.a, x.m, i, k); });
    a.stride = machine::bitsOf(x.a);
    return a;
  }
  case MmaOperand::B: {
    auto b = fragmentBy({x.k, x.n}, lanes, copies * x.k * x.n / lanes,
                        [&](int k, int j) { return operandAt(unit, x, x.b, x.n, j, k); });
    b.stride = machine::bitsOf(x.b);
    return b;
  }
  case MmaOperand::Sums: {
    auto sums = fragmentBy({x.m, x.n}, lanes, x.m * x.n / lanes,
                           [&](int i, int j) { return sumAt(unit, x, i, j); });
    // The calculator, rdna3: a sum of 16 bits has a register of its own.
    sums.stride = unit.isGfx11 ? 32 : machine::bitsOf(x.sums);
    return sums;
  }
  case MmaOperand::ScaleA:
  case MmaOperand::ScaleB: break;
  }
  IMBREX_UNREACHABLE("operand");
}

/// MFMA: one byte of each lane, those of all rows and then those of the next block (Composable
/// Kernel, test/mx_mfma_op/mx_mfma_op.hpp). WMMA: all blocks in a lane, of 16 rows in one half of
/// the wave or in the other, of 32 rows in both (LLVM 22, SIDefines.h, MatrixScale; Composable
/// Kernel, test/mx_wmma_op/mx_wmma_op.hpp).
ScalePlace scaleOf(const MmaInstruction &x, int extent, ScaleSelectors selectors, int outer,
                   int block) {
  if (hasName(x, "mfma")) return {outer + extent * block, selectors.byte};
  return {outer + 16 * selectors.lane, block};
}

bool hasSelectors(const MmaInstruction &x, int extent, ScaleSelectors selectors) {
  if (hasName(x, "mfma")) return selectors.lane == 0 && selectors.byte >= 0 && selectors.byte < 4;
  return selectors.byte == 0 && (selectors.lane == 0 || (selectors.lane == 1 && extent == 16));
}

} // namespace amd

bool isNvidia(const Machine &machine) { return machine.family == machine::Family::Nvptx; }

} // namespace

Fragment vendorFragment(const Machine &machine, const MmaInstruction &instruction,
                        MmaOperand operand) {
  if (isNvidia(machine)) return ptx::fragmentOf(instruction, operand);
  return amd::fragmentOf(amd::Unit(machine), instruction, operand);
}

ScalePlace vendorScale(const Machine &machine, const MmaInstruction &instruction,
                       MmaOperand operand, ScaleSelectors selectors, std::int32_t outer,
                       std::int32_t block) {
  const bool ofA = operand == MmaOperand::ScaleA;
  if (isNvidia(machine)) return ptx::scaleOf(ofA, selectors, outer, block);
  return amd::scaleOf(instruction, ofA ? instruction.m : instruction.n, selectors, outer, block);
}

bool hasSelectors(const Machine &machine, const MmaInstruction &instruction, MmaOperand operand,
                  ScaleSelectors selectors) {
  const bool ofA = operand == MmaOperand::ScaleA;
  if (isNvidia(machine)) return ptx::hasSelectors(instruction, ofA, selectors);
  return amd::hasSelectors(instruction, ofA ? instruction.m : instruction.n, selectors);
}

} // namespace imbrex::emulate
