// Every matrix instruction on every machine: the compiler's fragments go in, a plain product must
// come out of the emulator's model, which has the vendors' own.

#include "tests/unit/emulate/launching.h"
#include "tests/unit/emulate/matrix_launch.h"

#include <algorithm>
#include <cmath>
#include <set>

using namespace imbrex;
using emulate::Numerics;
using machine::Machine;
using machine::MatrixElement;
using machine::MmaInstruction;
using machine::Summation;

namespace {

std::vector<std::string> machinesWithProducts() {
  std::vector<std::string> names;
  for (const Machine &machine : machine::allMachines())
    if (!machine::mmaInstructionsOf(machine).empty()) names.emplace_back(machine.name);
  return names;
}

struct Expected {
  std::vector<double> sums;       ///< By row and column.
  std::vector<double> magnitudes; ///< Of all terms together.
};

Expected expectedOf(const MmaInstruction &x, const Operands &operands) {
  Expected expected;
  for (int i = 0; i < x.m; ++i)
    for (int j = 0; j < x.n; ++j) {
      const double c = operands.c[static_cast<std::size_t>(i * x.n + j)];
      long double sum = c, magnitude = std::fabs(c);
      for (int k = 0; k < x.k; ++k) {
        const double product = operands.scaledA(x, i, k) * operands.scaledB(x, k, j);
        sum += product;
        magnitude += std::fabs(product);
      }
      expected.sums.push_back(static_cast<double>(sum));
      expected.magnitudes.push_back(static_cast<double>(magnitude));
    }
  return expected;
}

/// The error of a sum by its terms' magnitudes that the row's rules allow: each group loses a unit
/// of the last place that it keeps for each term, and one of the result's.
double errorBound(const MmaInstruction &x) {
  const machine::SumRules &rules = x.sumRules;
  const double ofType = x.sums == MatrixElement::F16    ? 0x1p-10
                        : x.sums == MatrixElement::BF16 ? 0x1p-7
                        : x.sums == MatrixElement::F64  ? 0x1p-52
                                                        : 0x1p-23;
  const double groups = rules.terms == 0 ? x.k : x.k / rules.terms;
  switch (rules.summation) {
  case Summation::Exact: return 0;
  case Summation::Aligned:
    return groups * ((rules.terms + 2) * std::ldexp(1.0, -rules.fractionBits) + ofType);
  case Summation::NotKnown:
  case Summation::SaidToBeF32:
    return groups * (x.sums == MatrixElement::F64 ? ofType : 0x1p-23) + ofType;
  case Summation::Chained:
  case Summation::Pairwise: break;
  }
  return (x.k + groups) * ofType;
}

} // namespace

TEST_CASE("products of small integers are exact, on every machine and by every instruction") {
  for (const std::string &machine : machinesWithProducts()) {
    CAPTURE(machine);
    for (const Numerics numerics : {Numerics::Exact, Numerics::Adversarial}) {
      MatrixLaunch launch(machine, 1, smallInteger);
      REQUIRE(launch.run(3, numerics) == "");
      for (std::size_t row = 0; row < launch.rows().size(); ++row) {
        const MmaInstruction &x = *launch.rows()[row];
        CAPTURE(std::string(x.intrinsic));
        CHECK(launch.sumsOf(row) == expectedOf(x, launch.operandsOf(row)).sums);
      }
    }
  }
}

TEST_CASE("a profile counts matrix products as a kind of their own") {
  MatrixLaunch launch("gfx90a", 1, smallInteger);
  emulate::Counters counters;
  REQUIRE(launch.run(0, Numerics::Exact, &counters) == "");
  const auto kind = static_cast<std::size_t>(emulate::InstructionKind::Matrix);
  CHECK(counters.instructions[kind] == 64 * launch.rows().size());
  CHECK(toText(counters).find("matrix product") != std::string::npos);
}

TEST_CASE("each warp multiplies by itself, as often as it likes") {
  // Warp w adds w + 1 products of ones.
  Emulation emulation("sm_80", R"(
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %w = lshr i32 %t, 5
  br label %loop
loop:
  %i = phi i32 [ 0, %0 ], [ %n, %loop ]
  %c0 = phi float [ 0.0, %0 ], [ %d0, %loop ]
  %c1 = phi float [ 0.0, %0 ], [ %d1, %loop ]
  %c2 = phi float [ 0.0, %0 ], [ %d2, %loop ]
  %c3 = phi float [ 0.0, %0 ], [ %d3, %loop ]
  %d = call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 1065353216, i32 1065353216, i32 1065353216, i32 1065353216, i32 1065353216, i32 1065353216, float %c0, float %c1, float %c2, float %c3)
  %d0 = extractvalue { float, float, float, float } %d, 0
  %d1 = extractvalue { float, float, float, float } %d, 1
  %d2 = extractvalue { float, float, float, float } %d, 2
  %d3 = extractvalue { float, float, float, float } %d, 3
  %n = add i32 %i, 1
  %more = icmp ule i32 %n, %w
  br i1 %more, label %loop, label %end
end:
  %s = fadd float %d0, %d3
  %p = getelementptr float, ptr addrspace(1) %out, i32 %t
  store float %s, ptr addrspace(1) %p, align 4
  ret void
}
)");
  std::vector<float> out(128);
  emulation.threads(128).array(out);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    REQUIRE(emulation.report(seed) == "");
    for (std::size_t i = 0; i < out.size(); ++i)
      CHECK(out[i] == static_cast<float>(16 * (i / 32 + 1)));
  }
}

TEST_CASE("exact sums are rounded once, to the nearest") {
  for (const std::string &machine : machinesWithProducts()) {
    CAPTURE(machine);
    MatrixLaunch launch(machine, 2, anyNumber);
    REQUIRE(launch.run(0, Numerics::Exact) == "");
    for (std::size_t row = 0; row < launch.rows().size(); ++row) {
      const MmaInstruction &x = *launch.rows()[row];
      if (x.sums == MatrixElement::F64) continue;
      CAPTURE(std::string(x.intrinsic));
      // Numbers of about the same size: their sums are exact in f64.
      std::vector<double> expected = expectedOf(x, launch.operandsOf(row)).sums;
      for (double &sum : expected) sum = toElement(x.sums, sum);
      CHECK(launch.sumsOf(row) == expected);
    }
  }
}

TEST_CASE("adversarial sums keep the bound that the row promises, and differ by the seed") {
  for (const std::string &machine : machinesWithProducts()) {
    CAPTURE(machine);
    MatrixLaunch launch(machine, 2, anyNumber);
    std::vector<std::set<std::vector<double>>> all(launch.rows().size());
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      CAPTURE(seed);
      REQUIRE(launch.run(seed, Numerics::Adversarial) == "");
      for (std::size_t row = 0; row < launch.rows().size(); ++row) {
        const MmaInstruction &x = *launch.rows()[row];
        CAPTURE(std::string(x.intrinsic));
        const std::vector<double> sums = launch.sumsOf(row);
        all[row].insert(sums);
        const Expected expected = expectedOf(x, launch.operandsOf(row));
        double worst = 0;
        for (std::size_t i = 0; i < sums.size(); ++i)
          worst = std::max(worst, std::fabs(sums[i] - expected.sums[i]) / expected.magnitudes[i]);
        CHECK(worst <= errorBound(x));
      }
    }
    for (std::size_t row = 0; row < launch.rows().size(); ++row) {
      const MmaInstruction &x = *launch.rows()[row];
      CAPTURE(std::string(x.intrinsic));
      // A few products of few bits each are exact in whatever order.
      const bool isExact = x.sums == MatrixElement::I32;
      if (isExact) CHECK(all[row].size() == 1);
      if (!isExact && machine::bitsOf(x.a) >= 16) CHECK(all[row].size() > 1);
    }
  }
}

TEST_CASE("operands in wrong lanes give wrong sums") {
  for (const std::string machine : {"sm_120a", "gfx90a", "gfx950", "gfx1200", "gfx1250"}) {
    CAPTURE(machine);
    MatrixLaunch launch(machine, 1, smallInteger);
    launch.rotateLanes();
    REQUIRE(launch.run(3, Numerics::Exact) == "");
    for (std::size_t row = 0; row < launch.rows().size(); ++row) {
      const MmaInstruction &x = *launch.rows()[row];
      CAPTURE(std::string(x.intrinsic));
      CHECK(launch.sumsOf(row) != expectedOf(x, launch.operandsOf(row)).sums);
    }
  }
}

namespace {

const std::string kCall =
    "call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 0, i32 0, i32 0, "
    "i32 0, i32 0, i32 0, float 0.0, float 0.0, float 0.0, float 0.0)";

/// A kernel without parameters.
std::string reportOf(const std::string &machine, const std::string &triple, int threads,
                     const std::string &body, const std::string &place) {
  Emulation emulation(machine, "target triple = \"" + triple + "\"\ndefine " +
                                   (machine.starts_with("sm") ? "ptx_kernel" : "amdgpu_kernel") +
                                   " void @k() {\n" + body + "}\n");
  const std::string report = emulation.threads(threads).report();
  CAPTURE(report);
  CHECK(report.starts_with(emulation.at(place) + ": error: "));
  return report;
}

} // namespace

TEST_CASE("a matrix instruction to which half of the lanes do not come is reported") {
  const std::string report = reportOf("sm_80", "nvptx64-nvidia-cuda", 32, R"(
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %few = icmp ult i32 %t, 16
  br i1 %few, label %one, label %end
one:
  %x = )" + kCall + R"( ; <call>
  br label %end
end:
  ret void ; <exit>
)",
                                      "call");
  CHECK(names(report, {"mma.m16n8k8", "waits for thread 16 ", "which has exited at "}));
}

TEST_CASE("AMD's matrix instructions want the lanes that have exited, too") {
  const std::string report = reportOf("gfx90a", "amdgcn-amd-amdhsa", 64, R"(
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %few = icmp ult i32 %t, 63
  br i1 %few, label %one, label %end
one:
  %x = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x4f32(float 1.0, float 1.0, <4 x float> zeroinitializer, i32 0, i32 0, i32 0) ; <call>
  br label %end
end:
  ret void ; <exit>
)",
                                      "call");
  CHECK(names(report, {"mfma.f32.16x16x4f32", "waits for thread 63 ", "which has exited at "}));
}

TEST_CASE("a block with less than a warp has no matrix instructions") {
  const std::string report = reportOf("sm_80", "nvptx64-nvidia-cuda", 24,
                                      "  %x = " + kCall + " ; <call>\n  ret void\n", "call");
  CHECK(names(report, {"wants lane 24, which does not take part"}));
}

TEST_CASE("halves of a warp that have different copies of an operand are reported") {
  const std::string report = reportOf("gfx1100", "amdgcn-amd-amdhsa", 32, R"(
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %last = icmp eq i32 %t, 31
  %h = select i1 %last, half 1.0, half 0.0
  %a = insertelement <16 x half> zeroinitializer, half %h, i32 3
  %x = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a, <16 x half> zeroinitializer, <8 x float> zeroinitializer) ; <call>
  ret void
)",
                                      "call");
  CHECK(names(report, {"wants an operand that lane 15 has as well", "(lane 31 of warp 0)"}));
}

TEST_CASE("matrix instructions with modifiers, or of another machine, have no model") {
  const auto mfma = [](const std::string &intrinsic, const std::string &last) {
    return "  %x = call <4 x float> @llvm.amdgcn.mfma.f32." + intrinsic +
           ", <4 x float> zeroinitializer, i32 0, i32 0, i32 " + last + ") ; <call>\n  ret void\n";
  };
  const std::string plain = "16x16x4f32(float 1.0, float 1.0";
  CHECK(names(reportOf("gfx90a", "amdgcn-amd-amdhsa", 64, mfma(plain, "1"), "call"),
              {"no model of 'llvm.amdgcn.mfma.f32.16x16x4f32'"}));
  const std::string wide = "<64 x half> zeroinitializer, ";
  CHECK(names(reportOf("gfx1200", "amdgcn-amd-amdhsa", 32,
                       "  %x = call <8 x float> "
                       "@llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v64f16(" +
                           wide + wide + "<8 x float> zeroinitializer) ; <call>\n  ret void\n",
                       "call"),
              {"no model of 'llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v64f16'"}));
  const std::string xf32 = "16x16x8.xf32(<2 x float> zeroinitializer, <2 x float> zeroinitializer";
  CHECK(names(reportOf("gfx90a", "amdgcn-amd-amdhsa", 64, mfma(xf32, "0"), "call"),
              {"no model of 'llvm.amdgcn.mfma.f32.16x16x8.xf32'"}));
}
