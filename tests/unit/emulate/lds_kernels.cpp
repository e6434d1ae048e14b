#include "tests/unit/emulate/async_kernels.h"

namespace imbrex {

std::string ldsKernelText(const std::string &body) {
  return R"(
target triple = "amdgcn-amd-amdhsa"
target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-A5-G1-ni:7:8:9"
@sh = internal addrspace(3) global [1024 x i32] poison, align 16
define amdgpu_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) "amdgpu-flat-work-group-size"="128,128" {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %wave = lshr i32 %t, 6
  %lane = and i32 %t, 63
  %first = and i32 %t, 64
  %m = sub i32 127, %t
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %t
  %src = getelementptr i32, ptr addrspace(1) %in, i32 %t
  %base = getelementptr i32, ptr addrspace(3) @sh, i32 %first
  %mirrored = getelementptr i32, ptr addrspace(3) @sh, i32 %m
)" + body +
         "}\n";
}

namespace {

const std::string kOrderedBarrier = R"(
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
)";
const std::string kLeaveMirrored = R"(
  %v = load i32, ptr addrspace(3) %mirrored, align 4
  store i32 %v, ptr addrspace(1) %o, align 4
  ret void
)";
const std::string kLoadWord = "  call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) %src, ptr "
                              "addrspace(3) %base, i32 4, "
                              "i32 0, i32 0)\n";
const std::string kAwaitLoads =
    "  call void @llvm.amdgcn.s.waitcnt(i32 3952)\n"; // vmcnt(0) of gfx9

std::int32_t mirroredIn128(std::int32_t t) { return 227 - t; }

/// Two slots; the loads of the next step fly while this one's tile is added up.
const std::string kLdsRing = kLoadWord + R"(
  br label %loop
loop:
  %k = phi i32 [ 0, %0 ], [ %next, %ahead ]
  %sum = phi i32 [ 0, %0 ], [ %more, %ahead ]
  %next = add i32 %k, 1
  %isLeft = icmp ult i32 %next, 8
  br i1 %isLeft, label %issue, label %last
issue:
  %slot = and i32 %next, 1
  %offset = mul i32 %slot, 128
  %to = getelementptr i32, ptr addrspace(3) %base, i32 %offset
  %at = mul i32 %next, 128
  %from = getelementptr i32, ptr addrspace(1) %src, i32 %at
  call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) %from, ptr addrspace(3) %to, i32 4, i32 0, i32 0)
  call void @llvm.amdgcn.s.waitcnt(i32 3953)
  br label %ahead
last:
  call void @llvm.amdgcn.s.waitcnt(i32 3952)
  br label %ahead
ahead:
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %readSlot = and i32 %k, 1
  %readOffset = mul i32 %readSlot, 128
  %tile = getelementptr i32, ptr addrspace(3) %mirrored, i32 %readOffset
  %v = load i32, ptr addrspace(3) %tile, align 4
  %more = add i32 %sum, %v
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br i1 %isLeft, label %loop, label %end
end:
  store i32 %more, ptr addrspace(1) %o, align 4
  ret void
)";

/// 16 bytes to a lane; the words of each tile are added up by the lane that has asked for the tile
/// of another wave.
const std::string kWide = R"(
  %i = mul i32 %t, 4
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %i
  %w = mul i32 %first, 4
  %wide = getelementptr i32, ptr addrspace(3) @sh, i32 %w
  call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) %from, ptr addrspace(3) %wide, i32 16, i32 0, i32 0)
  call void @llvm.amdgcn.s.waitcnt(i32 3952)
)" + kOrderedBarrier + R"(
  %j = mul i32 %m, 4
  %read = getelementptr i32, ptr addrspace(3) @sh, i32 %j
  %x = load <4 x i32>, ptr addrspace(3) %read, align 16
  %sum = call i32 @llvm.vector.reduce.add.v4i32(<4 x i32> %x)
  store i32 %sum, ptr addrspace(1) %o, align 4
  ret void
)";

/// The last 28 threads' words are behind the buffer's end.
const std::string kBuffer = R"(
  %buffer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %in, i16 0, i64 400, i32 159744)
  %offset = mul i32 %t, 4
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %buffer, ptr addrspace(3) %base, i32 4, i32 %offset, i32 512, i32 0, i32 0)
  call void @llvm.amdgcn.s.waitcnt(i32 3952)
)" + kOrderedBarrier + kLeaveMirrored;

} // namespace

std::vector<AsyncKernel> ldsKernels() {
  return {
      {"loads to LDS are read by other waves behind a wait and a barrier",
       ldsKernelText(kLoadWord + kAwaitLoads + kOrderedBarrier + kLeaveMirrored), mirroredIn128},
      {"a wait between the release and the barrier counts, too", ldsKernelText(kLoadWord + R"(
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.waitcnt(i32 3952)
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
)" + kLeaveMirrored),
       mirroredIn128},
      {"an offset is added to both addresses", ldsKernelText(R"(
  call void @llvm.amdgcn.load.to.lds.p1(ptr addrspace(1) %src, ptr addrspace(3) %base, i32 4, i32 512, i32 0)
)" + kAwaitLoads + kOrderedBarrier + R"(
  %behind = getelementptr i32, ptr addrspace(3) %mirrored, i32 128
  %v = load i32, ptr addrspace(3) %behind, align 4
  store i32 %v, ptr addrspace(1) %o, align 4
  ret void
)"),
       [](std::int32_t t) { return mirroredIn128(t) + 128; }},
      {"less than a word becomes one", ldsKernelText(R"(
  call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) %src, ptr addrspace(3) %base, i32 1, i32 0, i32 0)
)" + kAwaitLoads + kOrderedBarrier + kLeaveMirrored),
       mirroredIn128},
      {"a buffer's words behind its end are zeros", ldsKernelText(kBuffer),
       [](std::int32_t t) { return 127 - t < 100 ? mirroredIn128(t) + 128 : 0; }},
      {"a ring of two slots", ldsKernelText(kLdsRing),
       [](std::int32_t t) { return 8 * mirroredIn128(t) + 128 * 28; }},
  };
}

std::vector<AsyncKernel> wideLdsKernels() {
  return {{"16 bytes to a lane", ldsKernelText(kWide),
           [](std::int32_t t) { return 4 * (100 + 4 * (127 - t)) + 6; }}};
}

std::vector<AsyncKernel> asyncLdsKernels() {
  return {{"each lane has its own address, and a counter of its own is waited for",
           ldsKernelText(R"(
  %r = sub i32 63, %t
  %own = getelementptr i32, ptr addrspace(3) @sh, i32 %r
  call void @llvm.amdgcn.global.load.async.to.lds.b32(ptr addrspace(1) %src, ptr addrspace(3) %own, i32 0, i32 0)
  call void @llvm.amdgcn.s.wait.asynccnt(i16 0)
)" + kOrderedBarrier + R"(
  %other = getelementptr i32, ptr addrspace(3) @sh, i32 %t
  %v = load i32, ptr addrspace(3) %other, align 4
  store i32 %v, ptr addrspace(1) %o, align 4
  ret void
)"),
           [](std::int32_t t) { return 163 - t; }}};
}

} // namespace imbrex
