#include "tests/unit/emulate/faults.h"

namespace imbrex {

namespace {

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

} // namespace

std::vector<Fault> globalMemoryFaults() {
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

} // namespace imbrex
