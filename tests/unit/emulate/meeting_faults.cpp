#include "tests/unit/emulate/faults.h"

namespace imbrex {

std::vector<Fault> meetingFaults() {
  const std::string halves = R"(
  %few = icmp ult i32 %t, 16
  br i1 %few, label %one, label %two
)";
  const std::string end = "  br label %end\nend:\n  ret void\n";
  return {
      {"a barrier is only for some threads",
       halves + "one:\n{barrier <one>}\n  br label %two\ntwo:\n  ret void ; <exit>\n",
       {"{<one>}: error: divergent barrier", "has exited at {<exit>}"}},
      {"each side of a branch has its own barrier",
       halves + "one:\n{barrier <one>}\n  br label %end\ntwo:\n{barrier <two>}\n" + end,
       {"divergent barrier", "which waits in", "{<one>}", "{<two>}"}},
      {"a thread ends before the barrier",
       "  %v = add i32 %t, 0\n  %isLast = icmp eq i32 %t, {N-1}\n"
       "  br i1 %isLast, label %one, label %two\n"
       "one:\n  ret void ; <exit>\ntwo:\n{barrier <two>}\n  ret void\n",
       {"{<two>}: error: divergent barrier", "thread {N-1} ", "has exited at {<exit>}"}},
      {"lanes are at two exchanges",
       "  %v = add i32 %t, 0\n" + halves +
           "one:\n  %x = {exchange} ; <one>\n  br label %end\ntwo:\n  %y = {exchange} ; <two>\n" +
           end,
       {"{<one>}", "{<two>}", "waits for"}},
      {"a lane is at a barrier, the others exchange",
       "  %v = add i32 %t, 0\n" + halves +
           "one:\n{barrier <one>}\n  br label %end\ntwo:\n  %y = {exchange} ; <two>\n" + end,
       {"{<two>}: error:", "waits for thread 0 ", "which waits in", "at {<one>}"}},
      {"a lane takes the value of one that has ended",
       R"(
  %v = add i32 %t, 0
  %from = add i32 0, 3
  %gone = icmp eq i32 %t, 3
  br i1 %gone, label %one, label %two
one:
  ret void ; <exit>
two:
  %y = {fetch} ; <fetch>
  ret void
)",
       {"{<fetch>}: error:", "3"}},
      {"a thread never ends",
       "  br label %loop\nloop:\n  br label %loop ; <loop>\n",
       {"{<loop>}: error:", "turn after turn"}},
      {"a flag that nobody raises is waited for",
       message("", kAcquireFlag),
       {"turn after turn", "k.ll:"}},
      {"a place that must not be reached is",
       "  call void @llvm.trap() ; <trap>\n  unreachable\n",
       {"{<trap>}: error: thread", "llvm.trap"}},
      // NVIDIA alone
      {"a mask lacks the lane itself",
       "  %y = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 65534, i32 %t, i32 1, i32 31) ; "
       "<call>\n" +
           kEnd,
       {"{<call>}: error: the mask of", "lane"},
       true,
       false},
      {"lanes do not agree on the mask",
       R"(
  %lane = and i32 %t, 31
  %few = icmp ult i32 %lane, 16
  %mask = select i1 %few, i32 -1, i32 -65536
  %y = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 %mask, i32 %t, i32 1, i32 31) ; <call>
  ret void
)",
       {"{<call>}: error:", "waits for"},
       true,
       false},
      {"a shuffle reads outside of its mask",
       R"(
  %few = icmp ult i32 %t, 16
  br i1 %few, label %one, label %end
one:
  %y = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 65535, i32 %t, i32 20, i32 31) ; <call>
  br label %end
end:
  ret void
)",
       {"{<call>}: error:", "wants lane 20, which does not take part"},
       true,
       false},
      {"a named barrier counts one warp too many",
       "  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 96) ; <barrier>\n" + kEnd,
       {"{<barrier>}: error: divergent barrier"},
       true,
       false},
      {"a vote is missing a lane",
       R"(
  %few = icmp ult i32 %t, 31
  br i1 %few, label %one, label %end
one:
  %y = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 true) ; <call>
  br label %end
end:
  ret void ; <exit>
)",
       {"{<call>}: error:", "which has exited at {<exit>}"},
       true,
       false},
      {"a flag is not volatile",
       message(
           "  fence {of device} seq_cst\n  store i32 1, ptr addrspace(1) %out, align 4 ; <raise>\n",
           "  %flag = load i32, ptr addrspace(1) %out, align 4 ; <look>\n"
           "  fence {of device} seq_cst\n"),
       {"in no order", "{<raise>}", "{<look>}"},
       true,
       false},
      {"a volatile flag has no fence before it",
       message("  store volatile i32 1, ptr addrspace(1) %out, align 4\n",
               "  %flag = load volatile i32, ptr addrspace(1) %out, align 4\n"
               "  fence {of device} seq_cst\n"),
       kReadRaces, true, false},
      {"a named barrier is another one than the other warp's",
       R"(
  %isWriter = icmp ult i32 %t, 32
  br i1 %isWriter, label %writer, label %reader
writer:
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 64) ; <one>
  ret void
reader:
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 2, i32 64) ; <two>
  ret void
)",
       {"divergent barrier", "{<one>}", "{<two>}"},
       true,
       false},
      // AMD alone
      {"the acquire of a barrier comes before it",
       kWriteOwn +
           "  fence syncscope(\"workgroup\") release\n  fence syncscope(\"workgroup\") acquire\n"
           "  call void @llvm.amdgcn.s.barrier()\n" +
           kReadMirrored + kResult,
       kReadRaces, false, true},
      {"the acquire behind a barrier reaches only the wave",
       kWriteOwn +
           "  fence syncscope(\"workgroup\") release\n  call void @llvm.amdgcn.s.barrier()\n"
           "  fence syncscope(\"wavefront\") acquire\n" +
           kReadMirrored + kResult,
       kReadRaces, false, true},
      {"the release before a barrier is missing",
       kWriteOwn +
           "  call void @llvm.amdgcn.s.barrier()\n  fence syncscope(\"workgroup\") acquire\n" +
           kReadMirrored + kResult,
       kReadRaces, false, true},
      {"the acquire behind a barrier is missing",
       kWriteOwn +
           "  fence syncscope(\"workgroup\") release\n  call void @llvm.amdgcn.s.barrier()\n" +
           kReadMirrored + kResult,
       kReadRaces, false, true},
      {"the release before a barrier reaches only the wave",
       kWriteOwn +
           "  fence syncscope(\"wavefront\") release\n  call void @llvm.amdgcn.s.barrier()\n"
           "  fence syncscope(\"workgroup\") acquire\n" +
           kReadMirrored + kResult,
       kReadRaces, false, true},
      {"a barrier is signalled and not awaited",
       kWriteOwn +
           "  fence syncscope(\"workgroup\") release\n"
           "  call void @llvm.amdgcn.s.barrier.signal(i32 -1)\n"
           "  fence syncscope(\"workgroup\") acquire\n" +
           kReadMirrored + kResult,
       kReadRaces, false, true},
      {"a barrier is awaited that half of the threads do not signal",
       R"(
  %few = icmp ult i32 %t, 64
  br i1 %few, label %one, label %end
one:
  call void @llvm.amdgcn.s.barrier.signal(i32 -1)
  call void @llvm.amdgcn.s.barrier.wait(i16 -1) ; <wait>
  br label %end
end:
  ret void ; <exit>
)",
       {"{<wait>}: error: divergent barrier", "has exited at {<exit>}"},
       false,
       true},
      {"a barrier of the wave has no fences", kWriteOwn + R"(
  call void @llvm.amdgcn.wave.barrier()
  %n = xor i32 %t, 1
  %neighbour = getelementptr i32, ptr addrspace(3) @sh, i32 %n
  %w = load i32, ptr addrspace(3) %neighbour, align 4 ; <read>
)" + kResult,
       kReadRaces, false, true},
  };
}

} // namespace imbrex
