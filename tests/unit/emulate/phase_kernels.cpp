#include "tests/unit/emulate/async_kernels.h"

namespace imbrex {

std::string phaseKernelText(const std::string &body) {
  return R"(
target triple = "nvptx64-nvidia-cuda"
@sh = internal addrspace(3) global [512 x i32] poison, align 128
@full = internal addrspace(3) global [4 x i64] poison, align 8
@empty = internal addrspace(3) global [4 x i64] poison, align 8
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %m = sub i32 63, %t
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %t
  %src = getelementptr i32, ptr addrspace(1) %in, i32 %t
  %own = getelementptr i32, ptr addrspace(3) @sh, i32 %t
  %mirrored = getelementptr i32, ptr addrspace(3) @sh, i32 %m
  %isFirst = icmp eq i32 %t, 0
)" + body +
         "}\n";
}

std::string makeBarriers(const std::string &barriers) {
  return R"(
  br i1 %isFirst, label %make, label %made
make:
)" + barriers +
         R"(
  br label %made
made:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0) ; <meet>
)";
}

std::string waitLoop(const std::string &name, const std::string &barrier,
                     const std::string &parity) {
  return "  br label %" + name + "\n" + name +
         ":\n"
         "  %" +
         name +
         ".over = call i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr "
         "addrspace(3) " +
         barrier + ", i32 " + parity + ") ; <" + name + ">\n  br i1 %" + name + ".over, label %" +
         name + ".go, label %" + name + "\n" + name + ".go:\n";
}

std::string arriveAt(const std::string &name, const std::string &barrier) {
  return "  %" + name +
         " = call i64 @llvm.nvvm.mbarrier.arrive.scope.cta.space.cta(ptr addrspace(3) " + barrier +
         ", i32 1) ; <" + name + ">\n";
}

std::string phaseRing() {
  const std::string barriers = R"(
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @full, i32 1) ; <make.full>
  %full1 = getelementptr i64, ptr addrspace(3) @full, i32 1
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) %full1, i32 1)
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @empty, i32 1) ; <make.empty>
  %empty1 = getelementptr i64, ptr addrspace(3) @empty, i32 1
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) %empty1, i32 1)
)";
  return makeBarriers(barriers) + R"(
  %lane = and i32 %t, 31
  %speaks = icmp eq i32 %lane, 0
  %place = getelementptr i32, ptr addrspace(3) @sh, i32 %lane
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %lane
  %isLoader = icmp ult i32 %t, 32
  br i1 %isLoader, label %load, label %add
load:
  %i = phi i32 [ 0, %made ], [ %i.next, %load.next ]
  %i.slot = and i32 %i, 1
  %i.parity = lshr i32 %i, 1
  %i.flipped = xor i32 %i.parity, 1
  %i.phase = and i32 %i.flipped, 1
  %i.empty = getelementptr i64, ptr addrspace(3) @empty, i32 %i.slot
  %i.full = getelementptr i64, ptr addrspace(3) @full, i32 %i.slot
)" + waitLoop("empty", "%i.empty", "%i.phase") +
         R"(
  %i.offset = mul i32 %i, 32
  %i.from = getelementptr i32, ptr addrspace(1) %from, i32 %i.offset
  %i.value = load i32, ptr addrspace(1) %i.from, align 4
  %i.at = mul i32 %i.slot, 32
  %i.to = getelementptr i32, ptr addrspace(3) %place, i32 %i.at
  store i32 %i.value, ptr addrspace(3) %i.to, align 4 ; <write>
  call void @llvm.nvvm.bar.warp.sync(i32 -1) ; <written by all>
  br i1 %speaks, label %tell.full, label %load.next
tell.full:
)" + arriveAt("arrive.full", "%i.full") +
         R"(
  br label %load.next
load.next:
  %i.next = add i32 %i, 1
  %i.more = icmp ult i32 %i.next, 7
  br i1 %i.more, label %load, label %loaded
loaded:
  store i32 0, ptr addrspace(1) %o, align 4
  ret void
add:
  %k = phi i32 [ 0, %made ], [ %k.next, %add.next ]
  %sum = phi i32 [ 0, %made ], [ %sum.next, %add.next ]
  %k.slot = and i32 %k, 1
  %k.parity = lshr i32 %k, 1
  %k.phase = and i32 %k.parity, 1
  %k.full = getelementptr i64, ptr addrspace(3) @full, i32 %k.slot
  %k.empty = getelementptr i64, ptr addrspace(3) @empty, i32 %k.slot
)" + waitLoop("full", "%k.full", "%k.phase") +
         R"(
  %k.at = mul i32 %k.slot, 32
  %k.from = getelementptr i32, ptr addrspace(3) %place, i32 %k.at
  %k.value = load i32, ptr addrspace(3) %k.from, align 4 ; <read>
  %sum.next = add i32 %sum, %k.value
  call void @llvm.nvvm.bar.warp.sync(i32 -1) ; <read by all>
  br i1 %speaks, label %tell.empty, label %add.next
tell.empty:
)" + arriveAt("arrive.empty", "%k.empty") +
         R"(
  br label %add.next
add.next:
  %k.next = add i32 %k, 1
  %k.more = icmp ult i32 %k.next, 7
  br i1 %k.more, label %add, label %added
added:
  store i32 %sum.next, ptr addrspace(1) %o, align 4
  ret void
)";
}

namespace {

const std::string kInitAll =
    "  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @full, i32 64)\n";
const std::string kStoreOwn = R"(
  %v = load i32, ptr addrspace(1) %src, align 4
  store i32 %v, ptr addrspace(3) %own, align 4
)";
const std::string kGiveMirrored = R"(
  %w = load i32, ptr addrspace(3) %mirrored, align 4
  store i32 %w, ptr addrspace(1) %o, align 4
  ret void
)";

std::int32_t mirroredIn64(std::int32_t t) { return 163 - t; }

} // namespace

std::vector<AsyncKernel> phaseKernels() {
  const std::string all = makeBarriers(kInitAll);
  return {
      {"numbers go through shared memory behind a phase",
       phaseKernelText(all + kStoreOwn + arriveAt("arrive", "@full") +
                       waitLoop("wait", "@full", "0") + kGiveMirrored),
       mirroredIn64},
      {"the state of a phase is waited for, and says how many it lacked",
       phaseKernelText(all + kStoreOwn + R"(
  %state = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @full)
  %lacked = call i32 @llvm.nvvm.mbarrier.pending.count(i64 %state)
  %isSome = icmp uge i32 %lacked, 1
  call void @llvm.assume(i1 %isSome)
  br label %wait
wait:
  %over = call i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3) @full, i64 %state)
  br i1 %over, label %go, label %wait
go:
)" + kGiveMirrored),
       mirroredIn64},
      {"copies arrive by themselves, and are counted", phaseKernelText(all + R"(
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %own, ptr addrspace(1) %src)
  call void @llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared(ptr addrspace(3) @full)
)" + waitLoop("wait", "@full", "0") + kGiveMirrored),
       mirroredIn64},
      {"copies arrive by themselves besides those that are counted", phaseKernelText(all + R"(
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %own, ptr addrspace(1) %src)
  call void @llvm.nvvm.cp.async.mbarrier.arrive.shared(ptr addrspace(3) @full)
)" + arriveAt("arrive", "@full") + waitLoop("wait", "@full", "0") + kGiveMirrored),
       mirroredIn64},
      {"who arrives for the last time drops out",
       phaseKernelText(all + kStoreOwn + R"(
  %isLow = icmp ult i32 %t, 32
  br i1 %isLow, label %low, label %high
low:
  %dropped = call i64 @llvm.nvvm.mbarrier.arrive.drop.shared(ptr addrspace(3) @full)
  br label %give
high:
)" + arriveAt("arrive", "@full") +
                       waitLoop("wait", "@full", "0") + arriveAt("again", "@full") +
                       waitLoop("wait.again", "@full", "1") + R"(
  br label %give
give:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
)" + kGiveMirrored),
       mirroredIn64},
      {"bytes are expected and told",
       phaseKernelText(
           makeBarriers(
               "  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @full, i32 1)\n") +
           kStoreOwn + R"(
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br i1 %isFirst, label %tell, label %wait.all
tell:
  %state = call i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3) @full, i32 64)
  call void @llvm.nvvm.mbarrier.complete.tx.scope.cta.space.cta(ptr addrspace(3) @full, i32 64)
  br label %wait.all
wait.all:
)" + waitLoop("wait", "@full", "0") +
           kGiveMirrored),
       mirroredIn64},
      {"a barrier's memory is used again when it is no barrier any more",
       phaseKernelText(all + arriveAt("arrive", "@full") + waitLoop("wait", "@full", "0") + R"(
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br i1 %isFirst, label %unmake, label %give
unmake:
  call void @llvm.nvvm.mbarrier.inval.shared(ptr addrspace(3) @full)
  store i32 5, ptr addrspace(3) @full, align 4
  br label %give
give:
  %v = load i32, ptr addrspace(1) %src, align 4
  store i32 %v, ptr addrspace(1) %o, align 4
  ret void
)"),
       [](std::int32_t t) { return 100 + t; }},
      {"a ring between two warps", phaseKernelText(phaseRing()),
       [](std::int32_t t) { return t < 32 ? 0 : 7 * (100 + t - 32) + 32 * 21; }},
  };
}

std::vector<AsyncKernel> relaxedPhaseKernels() {
  const std::string all = makeBarriers(kInitAll);
  return {
      {"fences order what relaxed arrivals and waits do not", phaseKernelText(all + kStoreOwn + R"(
  fence syncscope("block") release
  %state = call i64 @llvm.nvvm.mbarrier.arrive.relaxed.scope.cta.space.cta(ptr addrspace(3) @full, i32 1)
  br label %wait
wait:
  %over = call i1 @llvm.nvvm.mbarrier.try.wait.parity.relaxed.scope.cta.space.cta(ptr addrspace(3) @full, i32 0)
  br i1 %over, label %go, label %wait
go:
  fence syncscope("block") acquire
)" + kGiveMirrored),
       mirroredIn64},
  };
}

} // namespace imbrex
