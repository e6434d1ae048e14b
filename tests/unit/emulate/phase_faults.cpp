#include "tests/unit/emulate/async_kernels.h"
#include "tests/unit/emulate/pieces.h"

namespace imbrex {
namespace {

const std::string kLoadMirrored = "  %w = load i32, ptr addrspace(3) %mirrored, align 4 ; <read>\n";
const std::string kArrive = arriveAt("arrive", "@full");

std::string init(int count) {
  return "  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @full, i32 " +
         std::to_string(count) + ") ; <make>\n";
}
std::string made(int count) { return makeBarriers(init(count)); }

const std::string kByBarrier = "of the barrier made at {<make>}";

std::vector<AsyncFault> misused() {
  return {
      {"nobody has made the barrier",
       kArrive + kEnd,
       {"{<arrive>}: error: 'arrival at a barrier' in thread",
        "uses a barrier at byte 2048 of shared memory that is not initialised"}},
      {"nothing keeps the others behind the making",
       changed(made(64), "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0) ; <meet>\n",
               "") +
           kArrive + kEnd,
       {"{<arrive>}: error:", "uses a barrier at byte 2048 of shared memory that"}},
      {"a barrier is used when it is none any more",
       made(64) + kArrive + kAwait + kMeet + R"(
  br i1 %isFirst, label %unmake, label %after
unmake:
  call void @llvm.nvvm.mbarrier.inval.shared(ptr addrspace(3) @full)
  br label %after
after:
)" + kMeet +
           arriveAt("again", "@full") + kEnd,
       {"{<again>}: error:", "at byte 2048 of shared memory that is not initialised"}},
      {"a barrier is made where one is",
       made(64) + R"(
  br i1 %isFirst, label %again, label %end
again:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @full, i32 1) ; <again>
  br label %end
end:
)" + kEnd,
       {"{<again>}: error:", "touches byte 2048 of shared memory, where "
                             "'making of a barrier' at {<make>} has made a barrier"}},
      {"the bytes of a barrier are overwritten",
       made(64) + R"(
  %upper = getelementptr i32, ptr addrspace(3) @full, i32 1
  store i32 0, ptr addrspace(3) %upper, align 4 ; <write>
)" + kEnd,
       {"{<write>}: error: 'store' in thread", "touches byte 2052 of shared memory, where",
        "{<make>}"}},
      {"a barrier wants no arrival",
       made(0) + kEnd,
       {"{<make>}: error:", "is given a count of 0; it may be from 1 to 1048575"}},
      {"more bytes are expected than a barrier counts",
       made(64) + R"(
  call void @llvm.nvvm.mbarrier.expect.tx.scope.cta.space.cta(ptr addrspace(3) @full, i32 1000000) ; <expect>
)" + kEnd,
       {"{<expect>}: error:", "is given bytes that make 2000000 expected ones"}},
      {"a thread arrives more often than the phase lacks",
       made(64) + R"(
  %s = call i64 @llvm.nvvm.mbarrier.arrive.scope.cta.space.cta(ptr addrspace(3) @full, i32 65) ; <arrive>
)" + kEnd,
       {"{<arrive>}: error:", "arrives 65 times in phase 0 " + kByBarrier + ", which lacks 64"}},
      {"an arrival ends a phase that it may not end",
       made(1) + R"(
  %s = call i64 @llvm.nvvm.mbarrier.arrive.noComplete.shared(ptr addrspace(3) @full, i32 1) ; <arrive>
)" + kEnd,
       {"{<arrive>}: error:", "arrives 1 times in phase 0 " + kByBarrier + ", which lacks 1"}},
  };
}

std::vector<AsyncFault> miscounted() {
  return {
      {"more arrive than are counted",
       made(63) + kArrive + kAwait + kEnd,
       {"{<arrive>}: error:", "arrives for phase 1 " + kByBarrier,
        "nothing keeps it behind the end of phase 0"}},
      {"fewer arrive than are counted",
       made(65) + kArrive + kAwait + kEnd,
       {"{<wait>}: error:",
        "waits for phase 0 " + kByBarrier + ", which never ends: it lacks 1 arrivals and 0 bytes"}},
      {"bytes are expected that never come",
       made(64) + kArrive + kMeet + R"(
  br i1 %isFirst, label %expect, label %wait.all
expect:
  call void @llvm.nvvm.mbarrier.complete.tx.scope.cta.space.cta(ptr addrspace(3) @full, i32 0)
  br label %wait.all
wait.all:
)" + waitLoop("one", "@full", "0") +
           R"(
  call void @llvm.nvvm.mbarrier.expect.tx.scope.cta.space.cta(ptr addrspace(3) @full, i32 1)
)" + arriveAt("next", "@full") +
           waitLoop("wait", "@full", "1") + kEnd,
       {"{<wait>}: error:", "waits for phase 1 " + kByBarrier +
                                ", which never ends: it lacks 0 arrivals and 64 bytes"}},
      {"more copies arrive than are counted",
       made(63) + R"(
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %own, ptr addrspace(1) %src)
  call void @llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared(ptr addrspace(3) @full) ; <signal>
)" + kAwait +
           kEnd,
       {"{<signal>}: error:", "arrives for phase 1 " + kByBarrier}},
  };
}

std::vector<AsyncFault> misordered() {
  return {
      {"nobody waits for the phase",
       made(64) + kStore + kArrive + kLoadMirrored + kEnd,
       {"in no order", "{<write>}", "{<read>}"}},
      {"the first wait asks for the phase before the first",
       made(64) + kStore + kArrive + waitLoop("wait", "@full", "1") + kLoadMirrored + kEnd,
       {"in no order", "{<write>}", "{<read>}"}},
      {"a relaxed arrival publishes nothing",
       made(64) + kStore + R"(
  %s = call i64 @llvm.nvvm.mbarrier.arrive.relaxed.scope.cta.space.cta(ptr addrspace(3) @full, i32 1)
)" + kAwait +
           kLoadMirrored + kEnd,
       {"in no order", "{<write>}", "{<read>}"}},
      {"a relaxed wait sees nothing",
       made(64) + kStore + kArrive + R"(
  br label %wait
wait:
  %over = call i1 @llvm.nvvm.mbarrier.try.wait.parity.relaxed.scope.cta.space.cta(ptr addrspace(3) @full, i32 0)
  br i1 %over, label %go, label %wait
go:
)" + kLoadMirrored +
           kEnd,
       {"in no order", "{<write>}", "{<read>}"}},
      {"a phase ends before others have seen the end of the one before",
       made(32) + R"(
  %isLow = icmp ult i32 %t, 32
  br i1 %isLow, label %low, label %high
low:
)" + kArrive +
           waitLoop("low.wait", "@full", "0") + arriveAt("again", "@full") + kEnd + "high:\n" +
           kAwait + kEnd,
       {"{<wait>}: error: phase 1 " + kByBarrier + " may end before 'wait for a phase",
        "has seen the end of phase 0, and goes on waiting"}},
      {"a copy that arrives by itself is read before the wait",
       made(64) + R"(
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %own, ptr addrspace(1) %src) ; <copy>
  call void @llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared(ptr addrspace(3) @full)
  %w = load i32, ptr addrspace(3) %own, align 4 ; <read>
)" + kAwait +
           kEnd,
       {"{<read>}: error:", "{<copy>}", "may still be writing"}},
      {"nobody waits for a copy that arrives by itself",
       made(64) + R"(
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %own, ptr addrspace(1) %src)
  call void @llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared(ptr addrspace(3) @full) ; <signal>
  ret void ; <exit>
)",
       {"{<signal>}: error: 'arrival behind copies', issued by thread",
        "may still be under way when the thread ends at {<exit>}"}},
  };
}

std::vector<AsyncFault> wrongPhaseRings() {
  const std::string ring = phaseRing();
  const std::string arriveEmpty = arriveAt("arrive.empty", "%k.empty");
  return {
      {"the loader waits for a slot that nobody has emptied",
       changed(ring, "  %i.flipped = xor i32 %i.parity, 1\n",
               "  %i.flipped = xor i32 %i.parity, 0\n"),
       {"{<empty>}: error:",
        "waits for phase 0 of the barrier made at {<make.empty>}, which never "
        "ends: it lacks 1 arrivals and 0 bytes",
        "{<full>}: error:",
        "waits for phase 0 of the barrier made at {<make.full>}, which never "}},
      {"a slot is given back before it is read",
       changed(changed(ring,
                       "  %k.value = load i32, ptr addrspace(3) %k.from, align 4 ; <read>\n"
                       "  %sum.next = add i32 %sum, %k.value\n",
                       ""),
               "tell.empty:\n" + arriveEmpty + "\n  br label %add.next\nadd.next:\n",
               "tell.empty:\n" + arriveEmpty +
                   "\n  br label %add.next\nadd.next:\n"
                   "  %k.value = load i32, ptr addrspace(3) %k.from, align 4 ; <read>\n"
                   "  %sum.next = add i32 %sum, %k.value\n"),
       {"in no order", "{<write>}", "{<read>}"}},
      {"a lane speaks for its warp before the others have read",
       changed(ring, "  call void @llvm.nvvm.bar.warp.sync(i32 -1) ; <read by all>\n", ""),
       {"in no order", "{<write>}", "{<read>}"}},
      {"a lane speaks for its warp before the others have written",
       changed(ring, "  call void @llvm.nvvm.bar.warp.sync(i32 -1) ; <written by all>\n", ""),
       {"in no order", "{<write>}", "{<read>}"}},
      {"a slot is filled that nobody has given back",
       changed(ring, waitLoop("empty", "%i.empty", "%i.phase"), ""),
       {"{<arrive.full>}: error:", "arrives for phase 1 of the barrier made at {<make.full>}"}},
  };
}

} // namespace

std::vector<AsyncFault> phaseFaults() {
  std::vector<AsyncFault> all;
  for (const auto &faults : {misused(), miscounted(), misordered(), wrongPhaseRings()})
    for (AsyncFault fault : faults) {
      fault.text = phaseKernelText(fault.text);
      all.push_back(fault);
    }
  return all;
}

} // namespace imbrex
