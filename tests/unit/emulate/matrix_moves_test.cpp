// Loads and stores that deal matrices to lanes, against the vendors' descriptions.

#include "tests/unit/emulate/launching.h"

#include <numeric>

using namespace imbrex;

namespace {

/// 128 rows of 8 halves in shared memory, of which half h is the number h; a warp loads matrices of
/// those at rows 3 lane + 1, and stores what it has got.
std::string ldmatrixText(const std::string &intrinsic, int registers, const std::string &space) {
  std::string type = "{ i32";
  for (int i = 1; i < registers; ++i) type += ", i32";
  type = registers == 1 ? "i32" : type + " }";
  const std::string pointer = space.empty() ? "ptr" : "ptr addrspace(3)";
  std::string text = R"(
target triple = "nvptx64-nvidia-cuda"
@sh = internal addrspace(3) global [1024 x i16] poison, align 16
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  br label %fill
fill:
  %i = phi i32 [ 0, %0 ], [ %n, %fill ]
  %a = mul i32 %i, 32
  %h = add i32 %a, %t
  %v = trunc i32 %h to i16
  %p = getelementptr i16, ptr addrspace(3) @sh, i32 %h
  store i16 %v, ptr addrspace(3) %p, align 2 ; <fill>
  %n = add i32 %i, 1
  %more = icmp ult i32 %n, 32
  br i1 %more, label %fill, label %go
go:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %r = mul i32 %t, 3
  %s = add i32 %r, 1
  %o = mul i32 %s, 8
  %q = getelementptr i16, ptr addrspace(3) @sh, i32 %o
)";
  if (space.empty()) text += "  %g = addrspacecast ptr addrspace(3) %q to ptr\n";
  text += "  %x = call " + type + " @" + intrinsic + "(" + pointer +
          (space.empty() ? " %g" : " %q") + ") ; <load>\n";
  for (int i = 0; i < registers; ++i) {
    const std::string n = std::to_string(i);
    text += registers == 1 ? "  %y0 = add i32 %x, 0\n"
                           : "  %y" + n + " = extractvalue " + type + " %x, " + n + "\n";
    text += "  %w" + n + " = mul i32 %t, " + std::to_string(registers) + "\n  %z" + n +
            " = add i32 %w" + n + ", " + n + "\n  %u" + n +
            " = getelementptr i32, ptr addrspace(1) %out, i32 %z" + n + "\n  store i32 %y" + n +
            ", ptr addrspace(1) %u" + n + ", align 4\n";
  }
  return text + "  ret void\n}\n";
}

} // namespace

TEST_CASE("ldmatrix gives lanes the halves that PTX says") {
  for (const int matrices : {1, 2, 4})
    for (const bool isTransposed : {false, true})
      for (const std::string space : {"p3", ""}) {
        const std::string intrinsic = "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x" +
                                      std::to_string(matrices) + (isTransposed ? ".trans" : "") +
                                      ".b16." + (space.empty() ? "p0" : space);
        CAPTURE(intrinsic);
        std::vector<std::uint32_t> out(static_cast<std::size_t>(32 * matrices));
        Emulation emulation("sm_80", ldmatrixText(intrinsic, matrices, space));
        emulate::Counters counters;
        REQUIRE(emulation.threads(32).array(out).report(0, &counters) == "");
        for (std::uint32_t lane = 0; lane < 32; ++lane)
          for (std::uint32_t matrix = 0; matrix < static_cast<std::uint32_t>(matrices); ++matrix)
            for (std::uint32_t half = 0; half < 2; ++half) {
              // Row r of a matrix is where lane 8 matrix + r said.
              const std::uint32_t across = 2 * (lane % 4) + half;
              const std::uint32_t row = isTransposed ? across : lane / 4;
              const std::uint32_t column = isTransposed ? lane / 4 : across;
              const std::uint32_t wanted = 8 * (3 * (8 * matrix + row) + 1) + column;
              const std::uint32_t word =
                  out[lane * static_cast<std::uint32_t>(matrices) + matrix];
              CHECK((word >> 16 * half & 0xffff) == wanted);
            }
        // Eight rows of 16 bytes at a time; those of one matrix, 48 bytes apart, are in all banks.
        const auto isLoad = [&](const emulate::AccessCounters &access) {
          return toText(access.where) == emulation.at("load");
        };
        const auto load = std::ranges::find_if(counters.accesses, isLoad);
        REQUIRE(load != counters.accesses.end());
        CHECK(load->isShared);
        CHECK(load->lanes == static_cast<std::uint64_t>(8 * matrices));
        CHECK(load->cycles == static_cast<std::uint64_t>(matrices));
      }
}

namespace {

/// A warp stores matrices, lane t's register i with halves 64 t + 2 i and one more, to rows of 16
/// bytes at t, and each lane gives back the row at its own number.
std::string stmatrixText(const std::string &intrinsic, int matrices, bool waits) {
  std::string text = R"(
target triple = "nvptx64-nvidia-cuda"
@sh = internal addrspace(3) global [256 x i16] poison, align 16
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %o = mul i32 %t, 8
  %q = getelementptr i16, ptr addrspace(3) @sh, i32 %o
  %m = mul i32 %t, 4194368
)";
  std::string arguments = "ptr addrspace(3) %q";
  for (int i = 0; i < matrices; ++i) {
    const std::string n = std::to_string(i);
    text += "  %r" + n + " = add i32 %m, " + std::to_string(2 * i | (2 * i + 1) << 16) + "\n";
    arguments += ", i32 %r" + n;
  }
  text += "  call void @" + intrinsic + "(" + arguments + ") ; <store>\n";
  if (waits) text += "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n";
  return text + R"(
  %n = xor i32 %t, 1
  %isRow = icmp ult i32 %n, )" + std::to_string(8 * matrices) + R"(
  br i1 %isRow, label %back, label %end
back:
  %e = mul i32 %n, 8
  %s = getelementptr i16, ptr addrspace(3) @sh, i32 %e
  %v = load <4 x i32>, ptr addrspace(3) %s, align 16 ; <read>
  %w = mul i32 %n, 4
  %u = getelementptr i32, ptr addrspace(1) %out, i32 %w
  store <4 x i32> %v, ptr addrspace(1) %u, align 4
  br label %end
end:
  ret void
}
)";
}

std::string stmatrix(int matrices, bool isTransposed) {
  return "llvm.nvvm.stmatrix.sync.aligned.m8n8.x" + std::to_string(matrices) +
         (isTransposed ? ".trans" : "") + ".b16.p3";
}

} // namespace

TEST_CASE("stmatrix stores the halves of lanes where PTX says") {
  for (const int matrices : {1, 2, 4})
    for (const bool isTransposed : {false, true}) {
      CAPTURE(matrices);
      CAPTURE(isTransposed);
      std::vector<std::uint32_t> out(static_cast<std::size_t>(32 * matrices));
      Emulation emulation("sm_90a", stmatrixText(stmatrix(matrices, isTransposed), matrices, true));
      REQUIRE(emulation.threads(32).array(out).report() == "");
      for (std::uint32_t row = 0; row < static_cast<std::uint32_t>(8 * matrices); ++row)
        for (std::uint32_t column = 0; column < 8; ++column) {
          const std::uint32_t word = out[4 * row + column / 2];
          // Of the matrix that lies in registers: half of a lane, in the document's row and column.
          const std::uint32_t r = isTransposed ? column : row % 8;
          const std::uint32_t c = isTransposed ? row % 8 : column;
          const std::uint32_t lane = 4 * r + c / 2, half = 2 * (row / 8) + c % 2;
          CHECK((word >> 16 * (column % 2) & 0xffff) == 64 * lane + half);
        }
    }
}

TEST_CASE("loads and stores of matrices are accesses like others") {
  std::vector<std::uint32_t> out(128);
  const auto reportOf = [&](const std::string &machine, const std::string &text) {
    Emulation emulation(machine, text);
    const std::string report = emulation.threads(32).array(out).report();
    CAPTURE(report);
    CHECK(report.find(emulation.at(text.find("<load>") != std::string::npos ? "load" : "store")) !=
          std::string::npos);
    return report;
  };
  CHECK(names(reportOf("sm_90a", stmatrixText(stmatrix(4, false), 4, false)), {"in no order"}));
  const auto changed = [](const std::string &from, const std::string &to) {
    std::string text = ldmatrixText("llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3", 4, "p3");
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  CHECK(names(reportOf("sm_80", changed("mul i32 %t, 3", "mul i32 %t, 5")),
              {"of shared memory, of which the block has 2048 bytes"}));
  CHECK(names(reportOf("sm_80", changed("icmp ult i32 %n, 32", "icmp ult i32 %n, 20")),
              {"of shared memory, which nothing has written"}));
  CHECK(names(reportOf("sm_80", changed("mul i32 %s, 8", "mul i32 %s, 9")), {"aligned"}));
  CHECK(names(reportOf("sm_80",
                       changed("  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n", "")),
              {"in no order"}));
}
