#include "tests/unit/emulate/faults.h"

namespace imbrex {
namespace {

const std::string kLoadOwn = R"(
  %first = and i32 %t, 64
  %base = getelementptr i32, ptr addrspace(3) @sh, i32 %first
  %own = getelementptr i32, ptr addrspace(3) @sh, i32 %t
  %src = getelementptr i32, ptr addrspace(1) %in, i32 %t
  call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) %src, ptr addrspace(3) %base, i32 4, i32 0, i32 0) ; <copy>
)";
const std::string kBarrier = "{barrier}\n";
/// vmcnt(n), and no wait for the other counters.
std::string wait(int n) {
  return "  call void @llvm.amdgcn.s.waitcnt(i32 " + std::to_string(3952 + n) + ")\n";
}

const std::vector<std::string> kReadPendingLoad{
    "{<read>}: error: 'load' in thread",
    "reads a byte of shared memory that 'asynchronous copy' at {<copy>}, issued by "
    "thread",
    "may still be writing"};

} // namespace

std::vector<Fault> ldsFaults() {
  std::vector<Fault> faults = {
      {"a lane reads its word before the wait", kLoadOwn + kReadOwn + wait(0) + kResult,
       kReadPendingLoad},
      {"others read behind the wait alone", kLoadOwn + wait(0) + kReadMirrored + kResult,
       kReadPendingLoad},
      {"others read behind the barrier alone",
       kLoadOwn + kBarrier + kReadMirrored + wait(0) + kResult, kReadPendingLoad},
      {"a wait lets the only load fly", kLoadOwn + wait(1) + kReadOwn + wait(0) + kResult,
       kReadPendingLoad},
      {"a wait is for another counter",
       // lgkmcnt(0), vmcnt(63)
       kLoadOwn + "  call void @llvm.amdgcn.s.waitcnt(i32 49279)\n" + kReadOwn + wait(0) + kResult,
       kReadPendingLoad},
      {"a wait lets 16 loads fly, of seventeen",
       R"(
  %first = and i32 %t, 64
  %base = getelementptr i32, ptr addrspace(3) @sh, i32 %first
  %own = getelementptr i32, ptr addrspace(3) @sh, i32 %t
  br label %loop
loop:
  %k = phi i32 [ 0, %0 ], [ %next, %loop ]
  call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) %in, ptr addrspace(3) %base, i32 4, i32 0, i32 0) ; <copy>
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, 17
  br i1 %more, label %loop, label %wait
wait:
  call void @llvm.amdgcn.s.waitcnt(i32 20336)
)" + kReadOwn +
           wait(0) + kResult,
       kReadPendingLoad},
      {"a wait and a barrier without fences order nothing",
       kLoadOwn + wait(0) + "  call void @llvm.amdgcn.s.barrier()\n" + kReadMirrored + kResult,
       kReadPendingLoad},
      {"the word is overwritten before it has come",
       kLoadOwn + "  store i32 0, ptr addrspace(3) %own, align 4 ; <write>\n" + wait(0) + kEnd,
       {"{<write>}: error: 'store' in thread", "writes a byte of shared memory that", "{<copy>}",
        "may still be writing"}},
      {"the source changes while it is loaded",
       kLoadOwn + "  store i32 0, ptr addrspace(1) %src, align 4 ; <write>\n" + wait(0) + kEnd,
       {"{<write>}: error: 'store' in thread", "writes a byte of 'in' that", "{<copy>}",
        "may still be reading"}},
      {"a load goes to what others may still read",
       kWriteOwn + kBarrier + kReadMirrored + R"(
  %first = and i32 %t, 64
  %base = getelementptr i32, ptr addrspace(3) @sh, i32 %first
  call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) %in, ptr addrspace(3) %base, i32 4, i32 0, i32 0) ; <copy>
)" + wait(0) +
           kEnd,
       {"in no order", "{<copy>}", "{<read>}"}},
      {"a lane brings another address than the others",
       R"(
  %first = and i32 %t, 64
  %base = getelementptr i32, ptr addrspace(3) @sh, i32 %first
  %lane = and i32 %t, 63
  %isFirst = icmp eq i32 %lane, 0
  %word = zext i1 %isFirst to i32
  %aligned = getelementptr i32, ptr addrspace(3) %base, i32 %word
  call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) %in, ptr addrspace(3) %aligned, i32 4, i32 0, i32 0) ; <copy>
)" + wait(0) +
           kEnd,
       {"{<copy>}: error: 'asynchronous copy' in thread",
        "brings another address of shared memory than lane"}},
      {"a wave ends before its load",
       kLoadOwn + "  ret void ; <exit>\n",
       {"{<copy>}: error: 'asynchronous copy', issued by thread",
        "may still be under way when the thread ends at {<exit>}"}},
      {"the lanes of the last wave write behind shared memory",
       R"(
  %first = and i32 %t, 64
  %base = getelementptr i32, ptr addrspace(3) @sh, i32 %first
  %past = getelementptr i8, ptr addrspace(3) %base, i32 4
  call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) %in, ptr addrspace(3) %past, i32 4, i32 0, i32 0) ; <copy>
)" + wait(0) +
           kEnd,
       {"{<copy>}: error:", "touches byte {4N} of shared memory"}},
      {"there are no loads of 16 bytes",
       "  call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) %in, ptr addrspace(3) @sh, i32 "
       "16, i32 0, i32 0) ; <copy>\n" +
           kEnd,
       {"{<copy>}: error: the emulator has no model of 'llvm.amdgcn.global.load.lds'"}},
  };
  for (Fault &fault : faults) fault.nvidia = false;
  return faults;
}

} // namespace imbrex
