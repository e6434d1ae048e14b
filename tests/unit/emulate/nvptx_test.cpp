#include "tests/unit/emulate/launching.h"

#include <numeric>

using namespace imbrex;

namespace {

/// The sum of each block's 64 numbers, by shuffles within warps and shared memory between them.
const std::string kReduce = R"(
target triple = "nvptx64-nvidia-cuda"
@sh = internal addrspace(3) global [2 x float] poison, align 16
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = mul i32 %c, 64
  %at = add i32 %first, %t
  %p = getelementptr float, ptr addrspace(1) %in, i32 %at
  %v = load float, ptr addrspace(1) %p, align 4 ; <load>
  %s1 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v, i32 16, i32 31) ; <shuffle>
  %a1 = fadd float %v, %s1
  %s2 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %a1, i32 8, i32 31)
  %a2 = fadd float %a1, %s2
  %s3 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %a2, i32 4, i32 31)
  %a3 = fadd float %a2, %s3
  %s4 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %a3, i32 2, i32 31)
  %a4 = fadd float %a3, %s4
  %s5 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %a4, i32 1, i32 31)
  %a5 = fadd float %a4, %s5
  %w = lshr i32 %t, 5
  %lane = and i32 %t, 31
  %isFirst = icmp eq i32 %lane, 0
  br i1 %isFirst, label %write, label %meet
write:
  %q = getelementptr float, ptr addrspace(3) @sh, i32 %w
  store float %a5, ptr addrspace(3) %q, align 4 ; <store>
  br label %meet
meet:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0) ; <barrier>
  %r0 = load <2 x float>, ptr addrspace(3) @sh, align 8 ; <read>
  %l = extractelement <2 x float> %r0, i32 0
  %h = extractelement <2 x float> %r0, i32 1
  %sum = fadd float %l, %h
  %o = getelementptr float, ptr addrspace(1) %out, i32 %at
  store float %sum, ptr addrspace(1) %o, align 4 ; <result>
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
)";

std::string without(std::string text, const std::string &line) {
  const std::size_t at = text.find(line);
  REQUIRE(at != std::string::npos);
  text.erase(at, text.find('\n', at) - at);
  return text;
}

} // namespace

TEST_CASE("a reduction gives its sum under every seed") {
  std::vector<float> in(192), out(192);
  std::iota(in.begin(), in.end(), 1.0f);
  Emulation emulation("sm_90a", kReduce);
  emulation.blocks(3).array(in).array(out);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    std::ranges::fill(out, 0.0f);
    REQUIRE(emulation.report(seed) == "");
    for (int i = 0; i < 192; ++i)
      REQUIRE(out[static_cast<std::size_t>(i)] ==
              64.0f * (64.0f * static_cast<float>(i / 64) + 32.5f));
  }
}

TEST_CASE(
    "the shared memory that a launch asks for lies behind all other, and ends where it does") {
  const std::string text = R"(
target triple = "nvptx64-nvidia-cuda"
@asked = external addrspace(3) global [0 x i8], align 16
@own = internal addrspace(3) global [20 x i8] poison, align 4
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %isFirst = icmp eq i32 %t, 0
  br i1 %isFirst, label %fill, label %others
fill:
  store volatile i32 1, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @own, i32 16), align 4
  br label %others
others:
  %p = getelementptr i8, ptr addrspace(3) @asked, i32 %t
  store i8 7, ptr addrspace(3) %p, align 1 ; <store>
  %v = load i8, ptr addrspace(3) %p, align 1
  %o = getelementptr i8, ptr addrspace(1) %out, i32 %t
  store i8 %v, ptr addrspace(1) %o, align 1
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
)";
  std::vector<std::uint8_t> out(64);
  CHECK(Emulation("sm_90a", text).bytesAtLaunch(64).array(out).report() == "");
  CHECK(out == std::vector<std::uint8_t>(64, 7));
  Emulation small("sm_90a", text);
  small.bytesAtLaunch(63).array(out);
  const std::string report = small.report();
  CHECK_MESSAGE(
      names(report, {small.at("store") + ": error: 'store' of 1 byte touches byte 95 of "
                                         "shared memory, of which the block has 95 bytes"}),
      report);
}

TEST_CASE("a barrier that is missing is a race, under every seed, and both sides are named") {
  const std::string text =
      without(kReduce, "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)");
  std::vector<float> in(64), out(64);
  Emulation emulation("sm_90a", text);
  emulation.array(in).array(out);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    const std::string report = emulation.report(seed);
    CAPTURE(report);
    CHECK(names(report, {"in no order", emulation.at("store"), emulation.at("read")}));
  }
}

TEST_CASE("an access one byte past an argument is named with the argument") {
  std::vector<float> in(64), out(64);
  Emulation emulation("sm_90a", kReduce);
  ir::Argument cut;
  cut.data = reinterpret_cast<std::byte *>(out.data());
  cut.bytes = 255;
  emulation.array(in).argument(cut);
  const std::string report = emulation.report();
  CAPTURE(report);
  CHECK(names(report, {emulation.at("result") + ": error: 'store' of 4 bytes touches byte 252 of "
                                                "'out', which has 255 bytes, in thread 63"}));
}

TEST_CASE("a shuffle without one of its lanes names both places") {
  std::string text = R"(
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k() {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %odd = icmp eq i32 %t, 7
  br i1 %odd, label %one, label %two
one:
  call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %t, i32 1, i32 31) ; <one>
  br label %end
two:
  call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %t, i32 2, i32 31) ; <two>
  br label %end
end:
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
)";
  Emulation emulation("sm_90a", text);
  const std::string report = emulation.report();
  CAPTURE(report);
  CHECK(names(report, {emulation.at("two") + ": error:", "waits for thread 7",
                       "which waits in 'llvm.nvvm.shfl.sync.bfly.i32' at " + emulation.at("one")}));
}
