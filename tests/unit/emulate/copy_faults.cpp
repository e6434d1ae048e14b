#include "tests/unit/emulate/faults.h"

namespace imbrex {
namespace {

const std::string kCopy = R"(
  %own = getelementptr i32, ptr addrspace(3) @sh, i32 %t
  %src = getelementptr i32, ptr addrspace(1) %in, i32 %t
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %own, ptr addrspace(1) %src) ; <copy>
)";
const std::string kCommitCopies = "  call void @llvm.nvvm.cp.async.commit.group()\n";
const std::string kAwaitCopies = "  call void @llvm.nvvm.cp.async.wait.group(i32 0)\n";

const std::vector<std::string> kReadPendingCopy{
    "{<read>}: error: 'load' in thread",
    "reads a byte of shared memory that 'asynchronous copy' at {<copy>}, "
    "issued by thread",
    "may still be writing"};

/// The ring of three slots in a loop of four steps, whose wait lets too many groups fly, or which
/// fills a slot while it may be read.
std::string ring(const std::string &wait, const std::string &beforeCopy) {
  return R"(
  %own = getelementptr i32, ptr addrspace(3) @sh, i32 %t
  %lane = and i32 %t, 15
  %place = getelementptr i32, ptr addrspace(3) @sh, i32 %lane
  %m = sub i32 15, %lane
  %mirrored = getelementptr i32, ptr addrspace(3) @sh, i32 %m
  %isLow = icmp ult i32 %t, 16
  br i1 %isLow, label %low, label %gone
gone:
  ret void
low:
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %place, ptr addrspace(1) %in)
  call void @llvm.nvvm.cp.async.commit.group()
  %place1 = getelementptr i32, ptr addrspace(3) %place, i32 16
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %place1, ptr addrspace(1) %in)
  call void @llvm.nvvm.cp.async.commit.group()
  br label %loop
loop:
  %k = phi i32 [ 0, %low ], [ %next, %loop ]
)" + wait +
         R"(
  call void @llvm.nvvm.bar.warp.sync(i32 65535)
  %p = add i32 %k, 2
  %slot = urem i32 %p, 3
  %first = mul i32 %slot, 16
)" + beforeCopy +
         R"(
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %to, ptr addrspace(1) %in) ; <copy>
  call void @llvm.nvvm.cp.async.commit.group()
  %readSlot = urem i32 %k, 3
  %readFirst = mul i32 %readSlot, 16
  %tile = getelementptr i32, ptr addrspace(3) %mirrored, i32 %readFirst
  %v = load i32, ptr addrspace(3) %tile, align 4 ; <read>
  %next = add i32 %k, 1
  %goesOn = icmp ult i32 %next, 4
  br i1 %goesOn, label %loop, label %end
end:
  call void @llvm.nvvm.cp.async.wait.all()
  ret void
)";
}

std::vector<Fault> readTooEarly() {
  const std::string barrier = "{barrier}\n";
  return {
      {"a thread reads its copy before it waits",
       kCopy + kCommitCopies + kReadOwn + kAwaitCopies + kResult, kReadPendingCopy},
      {"others read behind the wait alone",
       kCopy + kCommitCopies + kAwaitCopies + kReadMirrored + kResult, kReadPendingCopy},
      {"others read behind the barrier alone",
       kCopy + kCommitCopies + barrier + kReadMirrored + kAwaitCopies + kResult, kReadPendingCopy},
      {"the barrier stands in front of the wait",
       kCopy + kCommitCopies + barrier + kAwaitCopies + kReadMirrored + kResult, kReadPendingCopy},
      {"a wait for groups finds none, as nothing was committed",
       kCopy + kAwaitCopies + kReadOwn + "  call void @llvm.nvvm.cp.async.wait.all()\n" + kResult,
       kReadPendingCopy},
      {"a wait lets the only group fly",
       kCopy + kCommitCopies + "  call void @llvm.nvvm.cp.async.wait.group(i32 1)\n" + kReadOwn +
           kAwaitCopies + kResult,
       kReadPendingCopy},
      {"an empty group behind the copy is one that may fly",
       kCopy + kCommitCopies + kCommitCopies +
           "  call void @llvm.nvvm.cp.async.wait.group(i32 2)\n" + kReadOwn + kAwaitCopies +
           kResult,
       kReadPendingCopy},
  };
}

std::vector<Fault> touchedTooEarly() {
  const std::string end = kAwaitCopies + kEnd;
  return {
      {"a thread overwrites what its copy writes",
       kCopy + kCommitCopies + "  store i32 0, ptr addrspace(3) %own, align 4 ; <write>\n" + end,
       {"{<write>}: error: 'store' in thread", "writes a byte of shared memory that", "{<copy>}",
        "may still be writing"}},
      {"another thread overwrites what a copy writes",
       kCopy + kCommitCopies + "{barrier}\n" + R"(
  %m = sub i32 {N-1}, %t
  %mirrored = getelementptr i32, ptr addrspace(3) @sh, i32 %m
  store i32 0, ptr addrspace(3) %mirrored, align 4 ; <write>
)" + end,
       {"{<write>}: error: 'store' in thread", "writes a byte of shared memory that", "{<copy>}",
        "may still be writing"}},
      {"the source changes while it is copied",
       kCopy + kCommitCopies + "  store i32 0, ptr addrspace(1) %src, align 4 ; <write>\n" + end,
       {"{<write>}: error: 'store' in thread", "writes a byte of 'in' that", "{<copy>}",
        "may still be reading"}},
      {"two copies of a group have one destination",
       kCopy + R"(
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %own, ptr addrspace(1) %in) ; <write>
)" + kCommitCopies +
           end,
       {"{<write>}: error: 'asynchronous copy' in thread", "writes a byte of shared memory that",
        "{<copy>}", "may still be writing"}},
      {"a copy goes to what others may still read",
       kWriteOwn + "{barrier}\n" + kReadMirrored + R"(
  %src = getelementptr i32, ptr addrspace(1) %in, i32 %t
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %own, ptr addrspace(1) %src) ; <copy>
)" + kCommitCopies +
           end,
       {"in no order", "{<copy>}", "{<read>}"}},
      {"a copy takes what others have stored without a barrier",
       R"(
  %dst = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %t, ptr addrspace(1) %dst, align 4 ; <write>
  %m = sub i32 {N-1}, %t
  %src = getelementptr i32, ptr addrspace(1) %out, i32 %m
  %own = getelementptr i32, ptr addrspace(3) @sh, i32 %t
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %own, ptr addrspace(1) %src) ; <copy>
)" + kCommitCopies +
           end,
       {"{<write>}", "{<copy>}", "of 'out'"}},
  };
}

std::vector<Fault> wrongCopyRings() {
  const std::string to = "  %to = getelementptr i32, ptr addrspace(3) %place, i32 %first\n";
  const std::string wait = "  call void @llvm.nvvm.cp.async.wait.group(i32 1)\n";
  return {
      {"a ring's wait lets one group too many fly",
       ring("  call void @llvm.nvvm.cp.async.wait.group(i32 2)\n", to), kReadPendingCopy},
      {"a ring is filled one slot too early",
       ring(wait, "  %early = add i32 %first, 16\n  %wrapped = urem i32 %early, 48\n"
                  "  %to = getelementptr i32, ptr addrspace(3) %place, i32 %wrapped\n"),
       {"{<copy>}", "{<read>}"}},
  };
}

std::vector<Fault> wrongCopies() {
  return {
      {"a thread ends before its copy",
       kCopy + "  ret void ; <exit>\n",
       {"{<copy>}: error: 'asynchronous copy', issued by thread",
        "may still be under way when the thread ends at {<exit>}"}},
      {"a copy takes more bytes than it has",
       "  call void @llvm.nvvm.cp.async.ca.shared.global.4.s(ptr addrspace(3) @sh, ptr "
       "addrspace(1) %in, i32 8) ; <copy>\n" +
           kEnd,
       {"{<copy>}: error: 'asynchronous copy' takes 8 bytes for a copy of "
        "4, in thread"}},
      {"a copy's destination is not aligned",
       "  %to = getelementptr i32, ptr addrspace(3) @sh, i32 1\n"
       "  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %to, ptr "
       "addrspace(1) %in) ; <copy>\n" +
           kEnd,
       {"{<copy>}: error:", "of 16 bytes is not aligned to 16"}},
      {"a copy's source is not aligned",
       "  %from = getelementptr i32, ptr addrspace(1) %in, i32 1\n"
       "  call void @llvm.nvvm.cp.async.ca.shared.global.8(ptr addrspace(3) @sh, ptr "
       "addrspace(1) %from) ; <copy>\n" +
           kEnd,
       {"{<copy>}: error:", "of 8 bytes is not aligned to 8"}},
      {"a copy takes bytes behind an argument",
       "  %from = getelementptr i32, ptr addrspace(1) %in, i32 {N}\n"
       "  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) @sh, ptr "
       "addrspace(1) %from) ; <copy>\n" +
           kEnd,
       {"{<copy>}: error:", "touches byte {4N} of 'in'"}},
      {"a copy goes behind shared memory",
       "  %to = getelementptr i32, ptr addrspace(3) @sh, i32 {N}\n"
       "  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %to, ptr "
       "addrspace(1) %in) ; <copy>\n" +
           kEnd,
       {"{<copy>}: error:", "touches byte {4N} of shared memory"}},
      {"a copy takes what nothing has written",
       "  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) @sh, ptr "
       "addrspace(1) %fresh) ; <copy>\n" +
           kEnd,
       {"{<copy>}: error:", "reads byte 0 of 'fresh', which nothing has written"}},
  };
}

} // namespace

std::vector<Fault> copyFaults() {
  std::vector<Fault> all;
  for (const auto &faults : {readTooEarly(), touchedTooEarly(), wrongCopyRings(), wrongCopies()})
    for (Fault fault : faults) {
      fault.amd = false;
      all.push_back(fault);
    }
  return all;
}

} // namespace imbrex
