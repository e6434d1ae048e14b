#include "tests/unit/emulate/launching.h"
#include "tests/unit/emulate/pieces.h"
#include "tests/unit/emulate/vendor.h"

#include <numeric>

using namespace imbrex;

namespace {

/// A kernel that breaks no rule, and what it leaves in `out[0]`.
struct Correct {
  const char *what;
  std::string body;
  std::int32_t (*result)(int threads, int blocks);
  int blocks = 1;
  bool nvidia = true, amd = true;
};

std::int32_t sumBelow(int n) { return n * (n - 1) / 2; }

/// Thread 0 of block 0 writes and raises a flag; thread `reader` of the last block waits and reads.
std::string messageToLastBlock(const std::string &raise, const std::string &look) {
  return R"(
  %b = {block}
  %isFirst = icmp eq i32 %t, 0
  br i1 %isFirst, label %one, label %end
one:
  %isWriter = icmp eq i32 %b, 0
  br i1 %isWriter, label %writer, label %wait
writer:
  store i32 7, ptr addrspace(1) %in, align 4
)" + raise +
         R"(
  br label %end
wait:
)" + look +
         R"(
  %up = icmp eq i32 %flag, 1
  br i1 %up, label %go, label %wait
go:
)" + (look.find("monotonic") != std::string::npos ? "  fence {of device} acquire\n" : "") +
         R"(
  %got = load i32, ptr addrspace(1) %in, align 4
  store i32 %got, ptr addrspace(1) %out, align 4
  br label %end
end:
  ret void
)";
}

std::vector<Correct> correctKernels() {
  return {
      {"numbers go through shared memory", kWriteOwn + "{barrier}\n" + kReadMirrored + kResult,
       [](int threads, int) { return threads - 1; }},
      {.what = "a thread has a stack for what it keeps in memory",
       .body = R"(
  %array = alloca [131072 x i32], align 4
  %high = sub i32 131071, %t
  %last = getelementptr i32, ptr %array, i32 %high
  %first = getelementptr i32, ptr %array, i32 %t
  store i32 3, ptr %first, align 4
  store i32 4, ptr %last, align 4
  %a = load i32, ptr %first, align 4
  %b = load i32, ptr %last, align 4
  %w = add i32 %a, %b
)" + kResult,
       .result = [](int, int) { return 7; },
       .amd = false},
      {.what = "one of a thread's variables is written, whichever it is",
       .body = R"(
  %a = alloca i32, align 4
  %b = alloca i32, align 4
  %odd = trunc i32 %t to i1
  %p = select i1 %odd, ptr %a, ptr %b
  store volatile i32 3, ptr %p, align 4
  %w = load volatile i32, ptr %p, align 4
)" + kResult,
       .result = [](int, int) { return 3; },
       .amd = false},
      {"a loop with two barriers", R"(
  br label %loop
loop:
  %i = phi i32 [ 0, %0 ], [ %next, %loop ]
  %own = getelementptr i32, ptr addrspace(3) @sh, i32 %t
  store i32 %i, ptr addrspace(3) %own, align 4
{barrier}
  %m = sub i32 {N-1}, %t
  %mirrored = getelementptr i32, ptr addrspace(3) @sh, i32 %m
  %w = load i32, ptr addrspace(3) %mirrored, align 4
{barrier}
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 4
  br i1 %more, label %loop, label %end
end:
)" + kResult,
       [](int, int) { return 3; }},
      {"neighbours in a warp meet at its barrier", kWriteOwn + "{warp barrier}\n" + R"(
  %n = xor i32 %t, 1
  %neighbour = getelementptr i32, ptr addrspace(3) @sh, i32 %n
  %w = load i32, ptr addrspace(3) %neighbour, align 4
)" + kResult,
       [](int, int) { return 1; }},
      {"lanes exchange", "  %v = add i32 %t, 5\n  %w = {exchange}\n" + kResult,
       [](int, int) { return 6; }},
      {"threads count by atomics, and read behind a barrier", R"(
  %zero = icmp eq i32 %t, 0
  br i1 %zero, label %clear, label %count
clear:
  store i32 0, ptr addrspace(3) @sh, align 4
  br label %count
count:
{barrier}
  atomicrmw add ptr addrspace(3) @sh, i32 %t {of block} monotonic, align 4
{barrier}
  %w = load i32, ptr addrspace(3) @sh, align 4
)" + kResult,
       [](int threads, int) { return sumBelow(threads); }},
      {"the grid counts by atomics",
       "  atomicrmw add ptr addrspace(1) %out, i32 1 {of device} monotonic, align 4\n  ret void\n",
       [](int threads, int blocks) { return threads * blocks; }, 3},
      {"a flag is released and acquired",
       messageToLastBlock(
           "  store atomic i32 1, ptr addrspace(1) %fresh {of device} release, align 4\n",
           "  %flag = load atomic i32, ptr addrspace(1) %fresh {of device} acquire, align 4\n"),
       [](int, int) { return 7; }, 2},
      {"a relaxed flag between fences",
       messageToLastBlock(
           "  fence {of device} release\n"
           "  store atomic i32 1, ptr addrspace(1) %fresh {of device} monotonic, align 4\n",
           "  %flag = load atomic i32, ptr addrspace(1) %fresh {of device} monotonic, align 4\n"),
       [](int, int) { return 7; }, 2},
      {"a lock keeps plain additions apart", R"(
  %isFirst = icmp eq i32 %t, 0
  br i1 %isFirst, label %lock, label %end
lock:
  %pair = cmpxchg ptr addrspace(1) %fresh, i32 0, i32 1 {of device} acquire monotonic, align 4
  %mine = extractvalue { i32, i1 } %pair, 1
  br i1 %mine, label %add, label %lock
add:
  %old = load i32, ptr addrspace(1) %out, align 4
  %sum = add i32 %old, 3
  store i32 %sum, ptr addrspace(1) %out, align 4
  store atomic i32 0, ptr addrspace(1) %fresh {of device} release, align 4
  br label %end
end:
  ret void
)",
       [](int, int blocks) { return 3 * blocks; }, 5},
      {"the last block adds up what the others have left", R"(
  %b = {block}
  %o = getelementptr i32, ptr addrspace(1) %in, i32 %b
  %isFirst = icmp eq i32 %t, 0
  br i1 %isFirst, label %one, label %end
one:
  %more = add i32 %b, 1
  store i32 %more, ptr addrspace(1) %o, align 4
  %ticket = atomicrmw add ptr addrspace(1) %fresh, i32 1 {of device} acq_rel, align 4
  %isLast = icmp eq i32 %ticket, 2
  br i1 %isLast, label %last, label %end
last:
  %all = load <3 x i32>, ptr addrspace(1) %in, align 4
  %total = call i32 @llvm.vector.reduce.add.v3i32(<3 x i32> %all)
  store i32 %total, ptr addrspace(1) %out, align 4
  br label %end
end:
  ret void
)",
       [](int, int) { return 6; }, 3},
      {"a warp waits at a named barrier for another that has only arrived", R"(
  %isWriter = icmp ult i32 %t, 32
  br i1 %isWriter, label %writer, label %reader
writer:
  %own = getelementptr i32, ptr addrspace(3) @sh, i32 %t
  store i32 %t, ptr addrspace(3) %own, align 4
  call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 1, i32 64)
  ret void
reader:
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 64)
  %lane = and i32 %t, 31
  %from = getelementptr i32, ptr addrspace(3) @sh, i32 %lane
  %w = load i32, ptr addrspace(3) %from, align 4
  %up = add i32 %w, 9
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %lane
  store i32 %up, ptr addrspace(1) %o, align 4
  ret void
)",
       [](int, int) { return 9; }, 1, true, false},
      {"half a warp exchanges under its own mask", R"(
  %lane = and i32 %t, 31
  %low = icmp ult i32 %lane, 16
  br i1 %low, label %one, label %two
one:
  %x = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 65535, i32 %t, i32 1, i32 31)
  br label %end
two:
  %y = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -65536, i32 %t, i32 2, i32 31)
  br label %end
end:
  %w = phi i32 [ %x, %one ], [ %y, %two ]
)" + kResult,
       [](int, int) { return 1; }, 1, true, false},
      {"a volatile flag between fences",
       messageToLastBlock("  fence {of device} seq_cst\n"
                          "  store volatile i32 1, ptr addrspace(1) %fresh, align 4\n",
                          "  %flag = load volatile i32, ptr addrspace(1) %fresh, align 4\n"
                          "  fence {of device} seq_cst\n"),
       [](int, int) { return 7; }, 2, true, false},
      {"a barrier in two halves", kWriteOwn + R"(
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier.signal(i32 -1)
  call void @llvm.amdgcn.s.barrier.wait(i16 -1)
  fence syncscope("workgroup") acquire
)" + kReadMirrored + kResult,
       [](int threads, int) { return threads - 1; }, 1, false, true},
      {"some lanes end, the others vote", R"(
  %gone = icmp ult i32 %t, 5
  br i1 %gone, label %end, label %vote
vote:
  %mask = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  %some = trunc i64 %mask to i32
  %isSixth = icmp eq i32 %t, 5
  br i1 %isSixth, label %write, label %end
write:
  store i32 %some, ptr addrspace(1) %out, align 4
  br label %end
end:
  ret void
)",
       [](int, int) { return ~31; }, 1, false, true},
  };
}

void checkCorrect(const Vendor &vendor, const Correct &kernel) {
  CAPTURE(vendor.machine);
  CAPTURE(std::string(kernel.what));
  const auto size = static_cast<std::size_t>(vendor.threads);
  std::vector<std::int32_t> in(size), out(size), none(size), fresh(size);

  Emulation emulation(vendor.machine, kernelText(vendor, kernel.body));
  emulation.blocks(kernel.blocks).array(in).array(out).array(none).array(fresh);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    for (auto *array : {&in, &out, &none, &fresh}) std::ranges::fill(*array, 0);
    REQUIRE(emulation.report(seed) == "");
    REQUIRE(out[0] == kernel.result(vendor.threads, kernel.blocks));
  }
}

} // namespace

TEST_CASE("kernels that break no rule are run without a word, under every seed") {
  for (const Correct &kernel : correctKernels()) {
    if (kernel.nvidia) checkCorrect(nvidia(), kernel);
    if (kernel.amd) checkCorrect(amd(), kernel);
  }
}
