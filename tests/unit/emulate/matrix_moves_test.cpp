// Loads and stores that deal matrices to lanes, against the vendors' descriptions.

#include "backend/emulate/model/fragments.h"
#include "tests/unit/emulate/launching.h"

#include <array>
#include <functional>
#include <random>

using namespace imbrex;

namespace {

/// What lanes hold of an operand of `mma.m16n8k32` on bytes.
emulate::Fragment ofBytes(machine::MmaOperand operand) {
  const machine::Machine &machine = *machine::findMachine("sm_100a");
  for (const machine::MmaInstruction *x : machine::mmaInstructionsOf(machine))
    if (x->intrinsic == "nvvm.mma.m16n8k32.row.col.s8")
      return emulate::vendorFragment(machine, *x, operand);
  FAIL("there is no such instruction");
  return {};
}

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
              const std::uint32_t word = out[lane * static_cast<std::uint32_t>(matrices) + matrix];
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
  %row = and i32 %t, )" +
                     std::to_string(8 * matrices - 1) +
                     R"(
  %o = mul i32 %row, 8
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
  %isRow = icmp ult i32 %n, )" +
         std::to_string(8 * matrices) + R"(
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

TEST_CASE("rows that are whole rounds of the banks apart conflict") {
  std::string text = ldmatrixText("llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16.p3", 1, "p3");
  const std::string apart = "mul i32 %t, 3";
  text.replace(text.find(apart), apart.size(), "mul i32 %t, 8"); // 128 bytes
  const std::string own = "add i32 %r, 1";
  text.replace(text.find(own), own.size(), "and i32 %r, 63");
  std::vector<std::uint32_t> out(32);
  Emulation emulation("sm_80", text);
  emulate::Counters counters;
  REQUIRE(emulation.threads(32).array(out).report(0, &counters) == "");
  const auto load = std::ranges::find_if(counters.accesses, [&](const auto &access) {
    return toText(access.where) == emulation.at("load");
  });
  REQUIRE(load != counters.accesses.end());
  CHECK(load->cycles == 8);
  CHECK(load->leastCycles == 1);
}

TEST_CASE("a row that a copy still writes is not to be loaded") {
  std::string text = ldmatrixText("llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3", 4, "p3");
  const std::string call = "  %x = call";
  text.insert(text.find(call),
              "  call void @llvm.nvvm.cp.async.ca.shared.global.16(ptr addrspace(3) %q, ptr "
              "addrspace(1) %out) ; <copy>\n  call void @llvm.nvvm.cp.async.commit.group()\n");
  text.insert(text.find("  ret void"), "  call void @llvm.nvvm.cp.async.wait.group(i32 0)\n");
  std::vector<std::uint32_t> out(128);
  Emulation emulation("sm_80", text);
  const std::string report = emulation.threads(32).array(out).report();
  CHECK(
      names(report, {emulation.at("load") + ": error:", "still be writing", emulation.at("copy")}));
}

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

TEST_CASE("stmatrix of bytes stores the sums that mma.sync leaves, by column") {
  const emulate::Fragment sums = ofBytes(machine::MmaOperand::Sums);
  for (const int matrices : {1, 2, 4}) {
    CAPTURE(matrices);
    const std::string name =
        "llvm.nvvm.stmatrix.sync.aligned.m16n8.x" + std::to_string(matrices) + ".trans.b8.p3";
    std::vector<std::uint32_t> out(static_cast<std::size_t>(32 * matrices));
    Emulation emulation("sm_100a", stmatrixText(name, matrices, true));
    REQUIRE(emulation.threads(32).array(out).report() == "");
    for (int lane = 0; lane < 32; ++lane)
      for (int matrix = 0; matrix < matrices; ++matrix)
        for (int i = 0; i < 4; ++i) {
          const int half = 64 * lane + 2 * matrix + i / 2;
          const auto [row, column] = sums.at(lane, i);
          const std::uint32_t word =
              out[static_cast<std::size_t>(4 * (8 * matrix + column) + row / 4)];
          CHECK((word >> 8 * (row % 4) & 0xff) == (half >> 8 * (i % 2) & 0xff));
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

namespace {

/// A load of a machine whose lanes bring addresses `stride` bytes apart, and get `type`.
struct DealtLoad {
  std::string machine, intrinsic, type;
  int stride;
  bool isGlobal = false;
};

/// Copies bytes to shared memory, and stores what each lane has got of them.
std::string dealtText(const DealtLoad &load, int lanes) {
  const bool isNvidia = load.machine.starts_with("sm");
  const std::string n = std::to_string(lanes), space = load.isGlobal ? "1" : "3";
  const std::string barrier = isNvidia
                                  ? "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n"
                                  : "  fence syncscope(\"workgroup\") release\n"
                                    "  call void @llvm.amdgcn.s.barrier()\n"
                                    "  fence syncscope(\"workgroup\") acquire\n";
  return "target triple = \"" +
         std::string(isNvidia ? "nvptx64-nvidia-cuda" : "amdgcn-amd-amdhsa") +
         "\"\n@sh = internal addrspace(3) global [2048 x i8] poison, align 16\ndefine " +
         (isNvidia ? "ptx_kernel" : "amdgpu_kernel") +
         " void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {\n  %t = call i32 @llvm." +
         (isNvidia ? "nvvm.read.ptx.sreg.tid.x" : "amdgcn.workitem.id.x") + R"(()
  br label %fill
fill:
  %i = phi i32 [ %t, %0 ], [ %n, %fill ]
  %f = getelementptr i32, ptr addrspace(1) %in, i32 %i
  %v = load i32, ptr addrspace(1) %f, align 4
  %p = getelementptr i32, ptr addrspace(3) @sh, i32 %i
  store i32 %v, ptr addrspace(3) %p, align 4
  %n = add i32 %i, )" +
         n + R"(
  %more = icmp ult i32 %n, 512
  br i1 %more, label %fill, label %go
go:
)" + barrier +
         "  %o = mul i32 %t, " + std::to_string(load.stride) +
         "\n  %q = getelementptr i8, ptr addrspace(" + space + ") " +
         (load.isGlobal ? "%in" : "@sh") + ", i32 %o\n  %x = call " + load.type + " @llvm." +
         load.intrinsic + "(ptr addrspace(" + space + ") %q) ; <load>\n" + "  %u = getelementptr " +
         load.type + ", ptr addrspace(1) %out, i32 %t\n  store " + load.type +
         " %x, ptr addrspace(1) %u, align 4\n  ret void\n}\n";
}

/// Who brings an element that a lane gets, and which of its own that is.
using SourceOf = std::function<std::pair<int, int>(int lane, int element)>;

struct Dealt {
  int from, bits, elements; ///< Bits in memory and in registers, elements of a lane.
};

int bitsIn(const std::vector<std::uint32_t> &words, int bit, int count) {
  const auto word = words[static_cast<std::size_t>(bit / 32)];
  return static_cast<int>(word >> bit % 32 & ((1u << count) - 1));
}

void checkDealt(const DealtLoad &load, const Dealt &dealt, const SourceOf &sourceOf) {
  CAPTURE(load.intrinsic);
  const int lanes = machine::findMachine(load.machine)->warpSize;
  std::vector<std::uint32_t> in(512),
      out(static_cast<std::size_t>(lanes * dealt.elements * dealt.bits / 32));
  std::mt19937 random(7);
  for (std::uint32_t &word : in) word = static_cast<std::uint32_t>(random());
  Emulation emulation(load.machine, dealtText(load, lanes));
  emulate::Counters counters;
  REQUIRE(emulation.threads(lanes).array(in).array(out).report(0, &counters) == "");
  for (int lane = 0; lane < lanes; ++lane)
    for (int i = 0; i < dealt.elements; ++i) {
      const auto [source, element] = sourceOf(lane, i);
      const int got = bitsIn(out, (lane * dealt.elements + i) * dealt.bits, dealt.bits);
      CHECK(got == bitsIn(in, 8 * load.stride * source + dealt.from * element, dealt.from));
    }
  using emulate::InstructionKind;
  const auto kind = load.isGlobal ? InstructionKind::GlobalLoad : InstructionKind::SharedLoad;
  CHECK(counters.instructions[static_cast<std::size_t>(kind)] ==
        static_cast<std::uint64_t>(lanes * (load.isGlobal ? 17 : 1)));
}

} // namespace

TEST_CASE("ldmatrix of bytes gives what mma.sync takes for B") {
  const emulate::Fragment b = ofBytes(machine::MmaOperand::B);
  // Lane k has brought row k of a matrix of 32 x 16: registers 0 and 2 are B's of its left half, 1
  // and 3 of its right one.
  const auto ofColumns = [&](int lane, int byte) {
    const int matrix = byte / 8, isRight = byte / 4 % 2;
    const auto at = b.at(lane, 4 * matrix + byte % 4);
    return std::pair(at.row, at.column + 8 * isRight);
  };
  const std::string four = "{ i32, i32, i32, i32 }", two = "{ i32, i32 }";
  const std::string wide = "nvvm.ldmatrix.sync.aligned.m16n16.";
  checkDealt({"sm_100a", wide + "x2.trans.b8.p3", four, 48}, {8, 8, 16}, ofColumns);
  checkDealt({"sm_100a", wide + "x1.trans.b8.p3", two, 48}, {8, 8, 8}, ofColumns);
  checkDealt({"sm_120a", wide + "x2.trans.b8x16.b4x16_p64.p3", four, 48}, {4, 8, 16}, ofColumns);
  checkDealt({"sm_120a", wide + "x1.trans.b8x16.b4x16_p64.p3", two, 48}, {4, 8, 8}, ofColumns);
}

TEST_CASE("ldmatrix of half bytes gives what mma.sync takes for A") {
  const emulate::Fragment a = ofBytes(machine::MmaOperand::A);
  // Of A's 16 x 32 lanes bring the upper left, the lower left, the upper and the lower right.
  const auto ofRows = [&](int lane, int byte) {
    const auto at = a.at(lane, byte);
    return std::pair(at.row + 16 * (at.column / 16), at.column % 16);
  };
  const std::string rows = "nvvm.ldmatrix.sync.aligned.m8n16.", type = "b8x16.b4x16_p64.p3";
  checkDealt({"sm_120a", rows + "x4." + type, "{ i32, i32, i32, i32 }", 48}, {4, 8, 16}, ofRows);
  checkDealt({"sm_120a", rows + "x2." + type, "{ i32, i32 }", 48}, {4, 8, 8}, ofRows);
  checkDealt({"sm_120a", rows + "x1." + type, "i32", 48}, {4, 8, 4}, ofRows);
}

TEST_CASE("transposing reads of gfx950 give each of 16 lanes a column of 16") {
  for (const int bits : {16, 8, 4}) {
    const int elements = 64 / bits;
    const std::string type = bits == 16 ? "<4 x i16>" : "<2 x i32>";
    const std::string name =
        "amdgcn.ds.read.tr" + std::to_string(bits) + ".b64." + (bits == 16 ? "v4i16" : "v2i32");
    checkDealt({"gfx950", name, type, 24}, {bits, bits, elements}, [&](int lane, int row) {
      // What 16 lanes have brought, one behind the other, in rows of 16.
      const int at = 16 * row + lane % 16;
      return std::pair(lane / 16 * 16 + at / elements, at % elements);
    });
  }
}

TEST_CASE("transposing loads of gfx12 give eight lanes the columns of eight") {
  // Of bytes, lanes 0 to 3 and 8 to 11 bring what lanes 0 to 7 get.
  constexpr std::array kHalves{0, 1, 2, 3, 4, 5, 6, 7}, kBytes{0, 1, 2, 3, 8, 9, 10, 11};
  const auto halves = [&](int lane, int row) {
    return std::pair(lane / 8 * 8 + kHalves[static_cast<std::size_t>(row)], lane % 8);
  };
  const auto bytes = [&](int lane, int row) {
    const int first = lane / 16 * 16 + lane / 8 % 2 * 4;
    return std::pair(first + kBytes[static_cast<std::size_t>(row)], lane % 8);
  };
  for (const std::string machine : {"gfx1201", "gfx1250"}) {
    checkDealt({machine, "amdgcn.global.load.tr.b128.v8i16", "<8 x i16>", 48, true}, {16, 16, 8},
               halves);
    checkDealt({machine, "amdgcn.global.load.tr.b64.v2i32", "<2 x i32>", 24, true}, {8, 8, 8},
               bytes);
  }
  checkDealt({"gfx1250", "amdgcn.ds.load.tr16.b128.v8f16", "<8 x half>", 48}, {16, 16, 8}, halves);
  checkDealt({"gfx1250", "amdgcn.ds.load.tr8.b64.v2i32", "<2 x i32>", 24}, {8, 8, 8}, bytes);
  // Eight lanes bring 16 half bytes each: lanes 0 to 15 get those of lanes 0 to 7 and 16 to 23.
  const auto nibbles = [&](int lane, int row) {
    return std::pair(row / 8 * 16 + lane / 16 * 8 + row % 8, lane % 16);
  };
  checkDealt({"gfx1250", "amdgcn.ds.load.tr4.b64.v2i32", "<2 x i32>", 24}, {4, 4, 16}, nibbles);
  checkDealt({"gfx1250", "amdgcn.global.load.tr4.b64.v2i32", "<2 x i32>", 24, true}, {4, 4, 16},
             nibbles);
}

TEST_CASE("loads that a machine does not have have no model") {
  const auto report = [](const DealtLoad &load) {
    std::vector<std::uint32_t> none(1);
    const int lanes = machine::findMachine(load.machine)->warpSize;
    Emulation emulation(load.machine, dealtText(load, lanes));
    return emulation.threads(lanes).array(none).array(none).report();
  };
  const DealtLoad read{"gfx942", "amdgcn.ds.read.tr16.b64.v4i16", "<4 x i16>", 24};
  CHECK(names(report(read), {"no model of 'llvm.amdgcn.ds.read.tr16.b64.v4i16'"}));
  const DealtLoad bytes{"sm_90a", "nvvm.ldmatrix.sync.aligned.m16n16.x1.trans.b8.p3",
                        "{ i32, i32 }", 48};
  CHECK(names(report(bytes),
              {"no model of 'llvm.nvvm.ldmatrix.sync.aligned.m16n16.x1.trans.b8.p3'"}));
}
