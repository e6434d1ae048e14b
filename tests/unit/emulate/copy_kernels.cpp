#include "tests/unit/emulate/async_kernels.h"

namespace imbrex {

std::string copyKernelText(const std::string &body) {
  return R"(
target triple = "nvptx64-nvidia-cuda"
@sh = internal addrspace(3) global [512 x i32] poison, align 16
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %m = sub i32 63, %t
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %t
  %src = getelementptr i32, ptr addrspace(1) %in, i32 %t
  %own = getelementptr i32, ptr addrspace(3) @sh, i32 %t
  %mirrored = getelementptr i32, ptr addrspace(3) @sh, i32 %m
)" + body +
         "}\n";
}

namespace {

/// Three slots; the loads of two steps fly while the third step's tile is added up.
const std::string kCopyRing = R"(
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %own, ptr addrspace(1) %src)
  call void @llvm.nvvm.cp.async.commit.group()
  %src1 = getelementptr i32, ptr addrspace(1) %src, i32 64
  %own1 = getelementptr i32, ptr addrspace(3) %own, i32 64
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %own1, ptr addrspace(1) %src1)
  call void @llvm.nvvm.cp.async.commit.group()
  br label %loop
loop:
  %k = phi i32 [ 0, %0 ], [ %next, %ahead ]
  %sum = phi i32 [ 0, %0 ], [ %more, %ahead ]
  call void @llvm.nvvm.cp.async.wait.group(i32 1)
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %p = add i32 %k, 2
  %isLeft = icmp ult i32 %p, 8
  br i1 %isLeft, label %issue, label %ahead
issue:
  %slot = urem i32 %p, 3
  %first = mul i32 %slot, 64
  %to = getelementptr i32, ptr addrspace(3) %own, i32 %first
  %at = mul i32 %p, 64
  %from = getelementptr i32, ptr addrspace(1) %src, i32 %at
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %to, ptr addrspace(1) %from)
  br label %ahead
ahead:
  call void @llvm.nvvm.cp.async.commit.group()
  %readSlot = urem i32 %k, 3
  %readFirst = mul i32 %readSlot, 64
  %tile = getelementptr i32, ptr addrspace(3) %mirrored, i32 %readFirst
  %v = load i32, ptr addrspace(3) %tile, align 4
  %more = add i32 %sum, %v
  %next = add i32 %k, 1
  %goesOn = icmp ult i32 %next, 8
  br i1 %goesOn, label %loop, label %end
end:
  store i32 %more, ptr addrspace(1) %o, align 4
  ret void
)";

} // namespace

std::vector<AsyncKernel> copyKernels() {
  return {
      {"a copy is read by another thread behind a wait and a barrier", copyKernelText(R"(
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %own, ptr addrspace(1) %src)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %v = load i32, ptr addrspace(3) %mirrored, align 4
  store i32 %v, ptr addrspace(1) %o, align 4
  ret void
)"),
       [](std::int32_t t) { return 163 - t; }},
      {"the thread's own copy needs no barrier, and a wait for all no commit", copyKernelText(R"(
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %own, ptr addrspace(1) %src)
  call void @llvm.nvvm.cp.async.wait.all()
  %v = load i32, ptr addrspace(3) %own, align 4
  store i32 0, ptr addrspace(3) %own, align 4
  store i32 0, ptr addrspace(1) %src, align 4
  store i32 %v, ptr addrspace(1) %o, align 4
  ret void
)"),
       [](std::int32_t t) { return 100 + t; }},
      {"a wait lets the newest group fly", copyKernelText(R"(
  %later = getelementptr i32, ptr addrspace(3) %own, i32 64
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %own, ptr addrspace(1) %src)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %later, ptr addrspace(1) %src)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 1)
  %v = load i32, ptr addrspace(3) %own, align 4
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
  %w = load i32, ptr addrspace(3) %later, align 4
  %sum = add i32 %v, %w
  store i32 %sum, ptr addrspace(1) %o, align 4
  ret void
)"),
       [](std::int32_t t) { return 200 + 2 * t; }},
      {"what is not taken is zero, and nothing is taken through a null pointer", copyKernelText(R"(
  %i = mul i32 %t, 8
  %to = getelementptr i32, ptr addrspace(3) @sh, i32 %i
  %to2 = getelementptr i32, ptr addrspace(3) %to, i32 4
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %i
  call void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3) %to, ptr addrspace(1) %from, i32 4)
  call void @llvm.nvvm.cp.async.ca.shared.global.8.s(ptr addrspace(3) %to2, ptr addrspace(1) null, i32 0)
  call void @llvm.nvvm.cp.async.wait.all()
  %v = load <4 x i32>, ptr addrspace(3) %to, align 16
  %w = load <2 x i32>, ptr addrspace(3) %to2, align 8
  %a = call i32 @llvm.vector.reduce.add.v4i32(<4 x i32> %v)
  %b = call i32 @llvm.vector.reduce.add.v2i32(<2 x i32> %w)
  %sum = add i32 %a, %b
  store i32 %sum, ptr addrspace(1) %o, align 4
  ret void
)"),
       [](std::int32_t t) { return 100 + 8 * t; }},
      {"a ring of three slots", copyKernelText(kCopyRing),
       [](std::int32_t t) { return 8 * (163 - t) + 64 * 28; }},
  };
}

} // namespace imbrex
