#include "tests/unit/emulate/faults.h"

namespace imbrex {

std::vector<Fault> sharedMemoryFaults() {
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

} // namespace imbrex
