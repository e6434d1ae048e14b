// Which scales a call with block scales takes: of all bytes and lanes that it can name.

#include "backend/emulate/model/fragments.h"
#include "tests/unit/emulate/launching.h"

#include <cmath>
#include <functional>

using namespace imbrex;
using machine::MmaInstruction;
using machine::MmaOperand;

namespace {

/// Byte `byte` of lane `lane`, as the exponent of a scale.
int exponentOf(int lane, int byte, bool ofA) {
  return (lane * 3 + byte * 5 + (ofA ? 1 : 0)) % 7 - 3;
}

/// A row whose A and B are ones in f4, and C zeros.
struct ScaledCall {
  std::string machine, row, type;      ///< Of the sums.
  std::string before, between, behind; ///< Around the registers %a and %b.
  int bytes;                           ///< Of a lane's registers.
  bool isE4M3 = false;                 ///< Scales; they have no sign, but for that a bit.

  std::uint8_t codeOf(int lane, int byte, bool ofA) const {
    const int exponent = exponentOf(lane, byte, ofA);
    if (!isE4M3) return static_cast<std::uint8_t>(127 + exponent);
    return static_cast<std::uint8_t>((ofA ? 0x80 : 0) | (7 + exponent) << 3);
  }
};

std::string scalesText(const ScaledCall &call) {
  const bool isNvidia = call.machine.starts_with("sm");
  const std::string i = call.bytes == 8 ? "i64" : "i32";
  return "target triple = \"" +
         std::string(isNvidia ? "nvptx64-nvidia-cuda" : "amdgcn-amd-amdhsa") + "\"\ndefine " +
         (isNvidia ? "ptx_kernel" : "amdgpu_kernel") +
         " void @k(ptr addrspace(1) %scalesOfA, ptr addrspace(1) %scalesOfB, ptr addrspace(1) "
         "%out) "
         "{\n  %t = call i32 @llvm." +
         (isNvidia ? "nvvm.read.ptx.sreg.tid.x" : "amdgcn.workitem.id.x") +
         "()\n  %p = getelementptr " + i + ", ptr addrspace(1) %scalesOfA, i32 %t\n  %a = load " +
         i + ", ptr addrspace(1) %p, align 4\n  %q = getelementptr " + i +
         ", ptr addrspace(1) %scalesOfB, i32 %t\n  %b = load " + i +
         ", ptr addrspace(1) %q, align 4\n  %x = call " + call.type + " @llvm." + call.before + i +
         " %a" + call.between + i + " %b" + call.behind + "\n  %u = getelementptr " + call.type +
         ", ptr addrspace(1) %out, i32 %t\n  store " + call.type +
         " %x, ptr addrspace(1) %u, align 4\n  ret void\n}\n";
}

/// Where the scale of a block of a row of A, or of a column of B, is: lane and byte.
using At = std::function<std::pair<int, int>(int outer, int block)>;

void checkScales(const ScaledCall &call, const At &ofA, const At &ofB) {
  CAPTURE(call.before);
  CAPTURE(call.between);
  CAPTURE(call.behind);
  const machine::Machine &machine = *machine::findMachine(call.machine);
  const MmaInstruction *x = nullptr;
  for (const MmaInstruction *row : machine::mmaInstructionsOf(machine))
    if (row->isScaled() && row->intrinsic == call.row) x = row;
  REQUIRE(x != nullptr);
  const emulate::Fragment sums = emulate::vendorFragment(machine, *x, MmaOperand::Sums);
  const int lanes = machine.warpSize;
  std::vector<std::uint8_t> a, b;
  for (int lane = 0; lane < lanes; ++lane)
    for (int byte = 0; byte < call.bytes; ++byte) {
      a.push_back(call.codeOf(lane, byte, true));
      b.push_back(call.codeOf(lane, byte, false));
    }
  std::vector<float> out(static_cast<std::size_t>(lanes * sums.elements));
  Emulation emulation(call.machine, scalesText(call));
  REQUIRE(emulation.threads(lanes).array(a).array(b).array(out).report() == "");
  for (int lane = 0; lane < lanes; ++lane)
    for (int i = 0; i < sums.elements; ++i) {
      double expected = 0;
      for (int block = 0; block < x->k / x->scale.k; ++block) {
        const auto [laneA, byteA] = ofA(sums.at(lane, i).row, block);
        const auto [laneB, byteB] = ofB(sums.at(lane, i).column, block);
        expected += std::ldexp(x->scale.k,
                               exponentOf(laneA, byteA, true) + exponentOf(laneB, byteB, false));
      }
      CHECK(out[static_cast<std::size_t>(lane * sums.elements + i)] == expected);
    }
}

const std::string kOnes = std::to_string(0x22222222);
std::string ones(int count) {
  std::string text = "i32 " + kOnes;
  for (int i = 1; i < count; ++i) text += ", i32 " + kOnes;
  return text;
}
std::string number(const char *type, int value) {
  return std::string(type) + " " + std::to_string(value);
}

} // namespace

TEST_CASE("mma.sync takes scales of the bytes and lanes of a quad that it names") {
  const std::string row =
      "nvvm.mma.block.scale.m16n8k64.row.col.mxf4.scale.2x.f32.e2m1.e2m1.f32.ue8m0";
  for (const int byte : {0, 2})
    for (const int laneA : {0, 1})
      for (const int laneB : {0, 1, 2, 3}) {
        const auto selectors = [&](int lane) {
          return ", " + number("i16", byte) + ", " + number("i16", lane);
        };
        checkScales(
            {"sm_120a", row, "{ float, float, float, float }",
             row + "(" + ones(6) + ", float 0.0, float 0.0, float 0.0, float 0.0, ",
             selectors(laneA) + ", ", selectors(laneB) + ")", 4},
            [&](int i, int block) {
              return std::pair(i % 8 * 4 + 2 * laneA + i / 8, byte + block);
            },
            [&](int j, int block) { return std::pair(4 * j + laneB, byte + block); });
      }
}

TEST_CASE("scales in e4m3 have no sign") {
  const std::string row =
      "nvvm.mma.block.scale.m16n8k64.row.col.mxf4nvf4.scale.4x.f32.e2m1.e2m1.f32.ue4m3";
  checkScales(
      {"sm_120a", row, "{ float, float, float, float }",
       row + "(" + ones(6) + ", float 0.0, float 0.0, float 0.0, float 0.0, ", ", i16 0, i16 0, ",
       ", i16 0, i16 3)", 4, true},
      [](int i, int block) { return std::pair(i % 8 * 4 + i / 8, block); },
      [](int j, int block) { return std::pair(4 * j + 3, block); });
}

TEST_CASE("MFMA takes scales of the byte that it names") {
  const std::string row = "amdgcn.mfma.scale.f32.16x16x128.f8f6f4";
  const std::string f4 = "<4 x i32> <" + ones(4) + ">";
  for (int a = 0; a < 4; ++a) {
    const int b = 3 - a;
    checkScales(
        {"gfx950", row, "<4 x float>",
         row + ".v4i32.v4i32(" + f4 + ", " + f4 + ", <4 x float> zeroinitializer, i32 4, i32 4, " +
             number("i32", a) + ", ",
         ", " + number("i32", b) + ", ", ")", 4},
        [&](int i, int block) { return std::pair(i + 16 * block, a); },
        [&](int j, int block) { return std::pair(j + 16 * block, b); });
  }
}

TEST_CASE("WMMA takes scales of the half of the wave that it names") {
  const std::string f4 = "<8 x i32> <" + ones(8) + ">";
  for (const int bytes : {4, 8})
    for (const int a : {0, 1}) {
      const int b = 1 - a;
      const std::string row =
          std::string("amdgcn.wmma.scale") + (bytes == 8 ? "16" : "") + ".f32.16x16x128.f8f6f4";
      checkScales(
          {"gfx1250", row, "<8 x float>",
           row + ".v8f32.v8i32.v8i32(i32 4, " + f4 + ", i32 4, " + f4 +
               ", i16 0, <8 x float> zeroinitializer, " + number("i32", a) + ", i32 0, ",
           ", " + number("i32", b) + ", i32 0, ", ", i1 false, i1 false)", bytes},
          [&](int i, int block) { return std::pair(i + 16 * a, block); },
          [&](int j, int block) { return std::pair(j + 16 * b, block); });
    }
}

TEST_CASE("scales of bytes and lanes that there are not have no model") {
  const std::string row =
      "nvvm.mma.block.scale.m16n8k64.row.col.mxf4.scale.2x.f32.e2m1.e2m1.f32.ue8m0";
  for (const char *selectors : {"i16 1, i16 0", "i16 4, i16 0", "i16 0, i16 2"}) {
    std::vector<std::uint8_t> scales(128);
    std::vector<float> out(128);
    Emulation emulation(
        "sm_120a",
        scalesText({"sm_120a", row, "{ float, float, float, float }",
                    row + "(" + ones(6) + ", float 0.0, float 0.0, float 0.0, float 0.0, ",
                    std::string(", ") + selectors + ", ", ", i16 0, i16 0)", 4}));
    CHECK(names(emulation.threads(32).array(scales).array(scales).array(out).report(),
                {"no model of 'llvm." + row}));
  }
}
