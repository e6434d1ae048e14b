#include "tests/unit/emulate/launching.h"
#include "tests/unit/emulate/vendor.h"

#include <algorithm>

using namespace imbrex;

namespace {

/// A kernel with one mistake. `{<name>}` in an expected text is the place of the line that carries
/// the comment `; <name>`.
struct Fault {
  const char *what;
  std::string body;
  std::vector<std::string> expected;
  bool nvidia = true, amd = true;
  int blocks = 1;
};

// --- pieces of kernels ---

const std::string kWriteOwn = R"(
  %own = getelementptr i32, ptr addrspace(3) @sh, i32 %t
  store i32 %t, ptr addrspace(3) %own, align 4 ; <write>
)";
const std::string kReadMirrored = R"(
  %m = sub i32 {N-1}, %t
  %mirrored = getelementptr i32, ptr addrspace(3) @sh, i32 %m
  %w = load i32, ptr addrspace(3) %mirrored, align 4 ; <read>
)";
const std::string kResult = R"(
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %w, ptr addrspace(1) %o, align 4
  ret void
)";
const std::string kEnd = "  ret void\n";

/// Warp 0 writes in[0] and raises the flag out[0]; warp 1 waits for the flag and reads.
std::string message(const std::string &raise, const std::string &look) {
  return R"(
  %isWriter = icmp eq i32 %t, 0
  br i1 %isWriter, label %writer, label %others
writer:
  store i32 7, ptr addrspace(1) %in, align 4 ; <write>
)" + raise +
         R"(
  br label %end
others:
  %isReader = icmp eq i32 %t, {half}
  br i1 %isReader, label %wait, label %end
wait:
)" + look +
         R"(
  %up = icmp eq i32 %flag, 1
  br i1 %up, label %go, label %wait
go:
  %got = load i32, ptr addrspace(1) %in, align 4 ; <read>
  %o = getelementptr i32, ptr addrspace(1) %out, i32 4
  store i32 %got, ptr addrspace(1) %o, align 4
  br label %end
end:
  ret void
)";
}

/// The same between two blocks.
std::string messageOfBlocks(const std::string &scope) {
  return R"(
  %b = {block}
  %isFirst = icmp eq i32 %t, 0
  br i1 %isFirst, label %one, label %end
one:
  %isWriter = icmp eq i32 %b, 0
  br i1 %isWriter, label %writer, label %wait
writer:
  store i32 7, ptr addrspace(1) %in, align 4 ; <write>
  store atomic i32 1, ptr addrspace(1) %out )" +
         scope + R"( release, align 4
  br label %end
wait:
  %flag = load atomic i32, ptr addrspace(1) %out )" +
         scope + R"( acquire, align 4
  %up = icmp eq i32 %flag, 1
  br i1 %up, label %go, label %wait
go:
  %got = load i32, ptr addrspace(1) %in, align 4 ; <read>
  br label %end
end:
  ret void
)";
}

const std::string kReleaseFlag =
    "  store atomic i32 1, ptr addrspace(1) %out {of device} release, align 4\n";
const std::string kRelaxedFlag =
    "  store atomic i32 1, ptr addrspace(1) %out {of device} monotonic, align 4\n";
const std::string kAcquireFlag =
    "  %flag = load atomic i32, ptr addrspace(1) %out {of device} acquire, align 4\n";
const std::string kRelaxedLook =
    "  %flag = load atomic i32, ptr addrspace(1) %out {of device} monotonic, align 4\n";

const std::vector<std::string> kReadRaces{"in no order", "{<write>}", "{<read>}"};

std::vector<Fault> sharedFaults() {
  return {
      {"a barrier between writing and reading is missing", kWriteOwn + kReadMirrored + kResult,
       kReadRaces},
      {"a barrier between reading and overwriting is missing",
       kWriteOwn + "{barrier}\n" + kReadMirrored +
           "  store i32 0, ptr addrspace(3) %own, align 4 ; <again>\n" + kResult,
       {"in no order", "{<read>}", "{<again>}"}},
      {"the second barrier of a loop is missing", R"(
  br label %loop
loop:
  %i = phi i32 [ 0, %0 ], [ %next, %loop ]
  %own = getelementptr i32, ptr addrspace(3) @sh, i32 %t
  store i32 %i, ptr addrspace(3) %own, align 4 ; <write>
{barrier}
  %m = sub i32 {N-1}, %t
  %mirrored = getelementptr i32, ptr addrspace(3) @sh, i32 %m
  %w = load i32, ptr addrspace(3) %mirrored, align 4 ; <read>
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 3
  br i1 %more, label %loop, label %end
end:
  ret void
)",
       kReadRaces},
      {"a barrier of the warp stands where the block needs one",
       kWriteOwn + "{warp barrier}\n" + kReadMirrored + kResult, kReadRaces},
      {"the lanes of a warp pass numbers on without a barrier of the warp", kWriteOwn + R"(
  %n = xor i32 %t, 1
  %neighbour = getelementptr i32, ptr addrspace(3) @sh, i32 %n
  %w = load i32, ptr addrspace(3) %neighbour, align 4 ; <read>
)" + kResult,
       kReadRaces},
      {"two threads write one word",
       R"(
  %half = lshr i32 %t, 1
  %own = getelementptr i32, ptr addrspace(3) @sh, i32 %half
  store i32 %t, ptr addrspace(3) %own, align 4 ; <write>
  ret void
)",
       {"in no order", "{<write>}: error: 'store'", "'store' at {<write>}"}},
      {"a count is made by plain loads and stores", R"(
  %zero = icmp eq i32 %t, 0
  br i1 %zero, label %clear, label %count
clear:
  store i32 0, ptr addrspace(3) @sh, align 4
  br label %count
count:
{barrier}
  %old = load i32, ptr addrspace(3) @sh, align 4 ; <read>
  %new = add i32 %old, 1
  store i32 %new, ptr addrspace(3) @sh, align 4 ; <write>
  ret void
)",
       kReadRaces},
      {"an atomic count is read without a barrier", R"(
  %zero = icmp eq i32 %t, 0
  br i1 %zero, label %clear, label %count
clear:
  store i32 0, ptr addrspace(3) @sh, align 4
  br label %count
count:
{barrier}
  atomicrmw add ptr addrspace(3) @sh, i32 1 {of block} monotonic, align 4 ; <write>
  %w = load i32, ptr addrspace(3) @sh, align 4 ; <read>
)" + kResult,
       kReadRaces},
      {"a conversion reads one element too far",
       kWriteOwn + "{barrier}\n" + R"(
  %next = add i32 %t, 1
  %other = getelementptr i32, ptr addrspace(3) @sh, i32 %next
  %w = load i32, ptr addrspace(3) %other, align 4 ; <read>
)" + kResult,
       {"{<read>}: error: 'load' of 4 bytes touches byte {4N} of shared memory, of which the "
        "block has {4N} bytes"}},
      {"a conversion leaves a hole that is read",
       R"(
  %last = icmp eq i32 %t, {N-1}
  br i1 %last, label %meet, label %write
write:
  %own = getelementptr i32, ptr addrspace(3) @sh, i32 %t
  store i32 %t, ptr addrspace(3) %own, align 4
  br label %meet
meet:
{barrier}
)" + kReadMirrored +
           kResult,
       {"{<read>}: error: 'load' reads byte", "of shared memory, which nothing has written",
        "in thread 0 "}},
      {"shared memory is read before anything",
       kReadMirrored + kResult,
       {"{<read>}: error: 'load' reads byte", "which nothing has written"}},
      {"a store ends one byte behind shared memory",
       R"(
  %past = getelementptr i8, ptr addrspace(3) @sh, i32 {4N-3}
  store i32 0, ptr addrspace(3) %past, align 1 ; <write>
  ret void
)",
       {"{<write>}: error: 'store' of 4 bytes touches byte {4N-3} of shared memory"}},
      {"a store goes one element in front of shared memory",
       R"(
  %before = getelementptr i32, ptr addrspace(3) @sh, i32 -1
  store i32 0, ptr addrspace(3) %before, align 4 ; <write>
  ret void
)",
       {"{<write>}: error: 'store' of 4 bytes touches byte -4 of shared memory"}},
      {"a vector is not aligned",
       R"(
  %odd = getelementptr i32, ptr addrspace(3) @sh, i32 1
  store <4 x i32> zeroinitializer, ptr addrspace(3) %odd, align 16 ; <write>
  ret void
)",
       {"{<write>}: error: 'store' of 16 bytes is not aligned to 16"}},
  };
}

std::vector<Fault> globalFaults() {
  return {
      {"all threads write one element in two statements",
       "  store i32 %t, ptr addrspace(1) %out, align 4 ; <first>\n"
       "  store i32 0, ptr addrspace(1) %out, align 4 ; <second>\n" +
           kEnd,
       {"{<first>}", "{<second>}", "error: 'store'", "of 'out' in no order"}},
      {"two blocks write the same elements",
       R"(
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %t, ptr addrspace(1) %o, align 4 ; <write>
  ret void
)",
       {"in no order", "{<write>}: error:", "at {<write>} in", "of block [0, 0, 0]",
        "of block [1, 0, 0]", "hint: give each block its own part of 'out', or use atomics"},
       true,
       true,
       2},
      {"a block reads what another writes", R"(
  %b = {block}
  %isFirst = icmp eq i32 %b, 0
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %t
  br i1 %isFirst, label %one, label %two
one:
  store i32 %t, ptr addrspace(1) %o, align 4 ; <write>
  br label %end
two:
  %w = load i32, ptr addrspace(1) %o, align 4 ; <read>
  br label %end
end:
  ret void
)",
       kReadRaces, true, true, 2},
      {"atomics of two blocks reach only their own",
       "  atomicrmw add ptr addrspace(1) %out, i32 1 {of block} monotonic, align 4 ; <write>\n" +
           kEnd,
       {"in no order", "{<write>}: error:", "at {<write>} in", "of block [0, 0, 0]",
        "of block [1, 0, 0]"},
       true,
       true,
       2},
      {"a flag is raised without a release", message(kRelaxedFlag, kAcquireFlag), kReadRaces},
      {"a flag is seen without an acquire", message(kReleaseFlag, kRelaxedLook), kReadRaces},
      {"the fence before a relaxed flag is missing",
       message(kRelaxedFlag, kRelaxedLook + "  fence {of device} acquire\n"), kReadRaces},
      {"the fence behind a relaxed flag is missing",
       message("  fence {of device} release\n" + kRelaxedFlag, kRelaxedLook), kReadRaces},
      {"a flag is not atomic",
       message("  store i32 1, ptr addrspace(1) %out, align 4 ; <raise>\n",
               "  %flag = load i32, ptr addrspace(1) %out, align 4 ; <look>\n"),
       {"in no order", "{<raise>}", "{<look>}"}},
      {"a flag between blocks reaches only a block", messageOfBlocks("{of block}"), kReadRaces,
       true, true, 2},
      {"a load goes one element too far",
       R"(
  %next = add i32 %t, 1
  %p = getelementptr i32, ptr addrspace(1) %in, i32 %next
  %w = load i32, ptr addrspace(1) %p, align 4 ; <read>
)" + kResult,
       {"{<read>}: error: 'load' of 4 bytes touches byte {4N} of 'in', which has {4N} bytes"}},
      {"a load goes one element in front",
       R"(
  %next = sub i32 %t, 1
  %p = getelementptr i32, ptr addrspace(1) %in, i32 %next
  %w = load i32, ptr addrspace(1) %p, align 4 ; <read>
)" + kResult,
       {"{<read>}: error: 'load' of 4 bytes touches byte -4 of 'in'", "in thread 0 "}},
      {"a store ends one byte too far",
       R"(
  %o = getelementptr i8, ptr addrspace(1) %out, i32 {4N-3}
  %last = icmp eq i32 %t, {N-1}
  br i1 %last, label %write, label %end
write:
  store i32 0, ptr addrspace(1) %o, align 1 ; <write>
  br label %end
end:
  ret void
)",
       {"{<write>}: error: 'store' of 4 bytes touches byte {4N-3} of 'out'"}},
      {"a pointer is made of a number",
       R"(
  %p = inttoptr i64 81985529216486895 to ptr addrspace(1)
  %w = load i8, ptr addrspace(1) %p, align 1 ; <read>
  ret void
)",
       {"{<read>}: error: 'load' of 1 byte touches memory that belongs to no argument"}},
      {"a pointer is null",
       R"(
  %w = load i32, ptr addrspace(1) null, align 4 ; <read>
  ret void
)",
       {"{<read>}: error: 'load' of 4 bytes touches", "through a null pointer"}},
      {"an argument that is not there is used",
       R"(
  %p = getelementptr i32, ptr addrspace(1) %none, i32 %t
  %w = load i32, ptr addrspace(1) %p, align 4 ; <read>
  ret void
)",
       {"{<read>}: error: 'load' of 4 bytes touches 'none' through a null pointer"}},
      {"a result is read before it is there",
       R"(
  %p = getelementptr i32, ptr addrspace(1) %fresh, i32 %t
  %isFirst = icmp eq i32 %t, 0
  br i1 %isFirst, label %read, label %write
read:
  %w = load i32, ptr addrspace(1) %p, align 4 ; <read>
  ret void
write:
  store i32 0, ptr addrspace(1) %p, align 4
  %again = load i32, ptr addrspace(1) %p, align 4
  ret void
)",
       {"{<read>}: error: 'load' reads byte 0 of 'fresh', which nothing has written, in thread "
        "0 "}},
      {"a variable of a thread is left",
       R"(
  %v = alloca [4 x i32], align 16, addrspace({private})
  %p = getelementptr [4 x i32], ptr addrspace({private}) %v, i32 0, i32 %t
  store volatile i32 0, ptr addrspace({private}) %p, align 4 ; <write>
  ret void
)",
       {"{<write>}: error: 'store' of 4 bytes touches byte",
        "of a thread's own variable, which has 16 bytes"}},
  };
}

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

/// Replaces `{<name>}` by places, {4N} and the like by numbers.
std::string filledIn(std::string text, const Vendor &vendor, const Emulation &emulation) {
  const int bytes = 4 * vendor.threads;
  const std::map<std::string, std::string> numbers{
      {"{4N}", std::to_string(bytes)},
      {"{4N-3}", std::to_string(bytes - 3)},
      {"{N-1}", std::to_string(vendor.threads - 1)},
      {"{private}", vendor.machine.starts_with("gfx") ? "5" : "0"}};
  for (const auto &[pattern, number] : numbers)
    for (std::size_t at; (at = text.find(pattern)) != std::string::npos;)
      text.replace(at, pattern.size(), number);
  for (std::size_t at; (at = text.find("{<")) != std::string::npos;) {
    const std::size_t end = text.find(">}", at);
    text.replace(at, end + 2 - at, emulation.at(text.substr(at + 2, end - at - 2)));
  }
  return text;
}

void checkFault(const Vendor &vendor, const Fault &fault) {
  CAPTURE(vendor.machine);
  CAPTURE(fault.what);
  Vendor words = vendor;
  const int bytes = 4 * vendor.threads;
  words.words["4N-3"] = std::to_string(bytes - 3);
  words.words["private"] = vendor.machine.starts_with("gfx") ? "5" : "0";
  const auto size = static_cast<std::size_t>(vendor.threads);
  std::vector<std::int32_t> in(size), out(size), none(size);
  std::vector<std::uint8_t> unwritten(4 * size);
  Emulation emulation(vendor.machine, kernelText(words, fault.body));
  ir::Argument fresh{.data = reinterpret_cast<std::byte *>(none.data()),
                     .bytes = bytes,
                     .unwritten = unwritten.data()};
  emulation.blocks(fault.blocks).array(in).array(out).argument({.bytes = 0}).argument(fresh);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    CAPTURE(seed);
    std::ranges::fill(out, 0);
    std::ranges::fill(unwritten, std::uint8_t{1});
    const std::string report = emulation.report(seed);
    CAPTURE(report);
    for (const std::string &part : fault.expected) {
      const std::string expected = filledIn(part, vendor, emulation);
      CAPTURE(expected);
      CHECK(report.find(expected) != std::string::npos);
    }
  }
}

void checkFaults(const std::vector<Fault> &faults) {
  for (const Fault &fault : faults) {
    if (fault.nvidia) checkFault(nvidia(), fault);
    if (fault.amd) checkFault(amd(), fault);
  }
}

} // namespace

TEST_CASE("every mistake with shared memory is found under every seed, and its lines are named") {
  checkFaults(sharedFaults());
}

TEST_CASE("every mistake with global memory is found under every seed, and its lines are named") {
  checkFaults(globalFaults());
}

TEST_CASE("every mistake in meeting others is found under every seed, and its lines are named") {
  checkFaults(meetingFaults());
}

TEST_CASE("there are forty mistakes and more in the words of each vendor") {
  std::vector<Fault> all = sharedFaults();
  for (const auto &more : {globalFaults(), meetingFaults()})
    all.insert(all.end(), more.begin(), more.end());
  CHECK(std::ranges::count_if(all, &Fault::nvidia) >= 40);
  CHECK(std::ranges::count_if(all, &Fault::amd) >= 40);
}

TEST_CASE("what has no model is named before anything runs") {
  const auto reportOf = [](const Vendor &vendor, const std::string &line) {
    std::vector<std::int32_t> none;
    Emulation emulation(vendor.machine, kernelText(vendor, line + " ; <line>\n" + kEnd));
    emulation.array(none).array(none).array(none).array(none);
    const std::string report = emulation.report();
    CHECK(report.starts_with(emulation.at("line")));
    return report;
  };
  for (const Vendor &vendor : {nvidia(), amd()}) {
    CAPTURE(vendor.machine);
    CHECK(names(reportOf(vendor, "  %x = call i64 @llvm.readcyclecounter()"),
                {"no model of 'llvm.readcyclecounter', which kernel 'k' calls"}));
    CHECK(names(reportOf(vendor, "  call void asm sideeffect \"what\", \"\"()"),
                {"no model of the inline assembly 'what'"}));
  }
}
