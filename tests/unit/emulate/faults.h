#pragma once

#include "tests/unit/emulate/pieces.h"

#include <string>
#include <vector>

/// Kernels that break one rule each, and what the emulator must say of them.
namespace imbrex {

/// A kernel with one mistake. `{<name>}` in an expected text is the place of the line that carries
/// the comment `; <name>`.
struct Fault {
  const char *what;
  std::string body;
  std::vector<std::string> expected;
  bool nvidia = true, amd = true;
  int blocks = 1;
};

std::vector<Fault> sharedMemoryFaults();
std::vector<Fault> globalMemoryFaults();
/// Of meeting others: barriers, shuffles, flags that are waited for.
std::vector<Fault> meetingFaults();
/// Of copies that run beside the threads.
std::vector<Fault> copyFaults();
/// The same of AMD's loads to LDS.
std::vector<Fault> ldsFaults();

// --- what several of them are made of ---

/// Warp 0 writes in[0] and raises the flag out[0]; warp 1 waits for the flag and reads.
inline std::string message(const std::string &raise, const std::string &look) {
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

inline const std::string kReleaseFlag =
    "  store atomic i32 1, ptr addrspace(1) %out {of device} release, align 4\n";
inline const std::string kRelaxedFlag =
    "  store atomic i32 1, ptr addrspace(1) %out {of device} monotonic, align 4\n";
inline const std::string kAcquireFlag =
    "  %flag = load atomic i32, ptr addrspace(1) %out {of device} acquire, align 4\n";
inline const std::string kRelaxedLook =
    "  %flag = load atomic i32, ptr addrspace(1) %out {of device} monotonic, align 4\n";

inline const std::vector<std::string> kReadRaces{"in no order", "{<write>}", "{<read>}"};

} // namespace imbrex
