#pragma once

#include <string>
#include <vector>

/// Kernels whose copies run beside their threads.
namespace imbrex {

/// A kernel without a mistake. Its block has 64 threads of NVIDIA's, or 128 of AMD's; in[i] is 100
/// + i, there are eight elements for each thread.
struct AsyncKernel {
  const char *what;
  std::string text;
  /// What it leaves in out[t].
  std::int32_t (*result)(std::int32_t t);
};

/// A kernel with one mistake. `{<name>}` in an expected text is the place of the line that carries
/// the comment `; <name>`.
struct AsyncFault {
  const char *what;
  std::string text;
  std::vector<std::string> expected;
};

/// NVIDIA's cp.async.
std::vector<AsyncKernel> copyKernels();

/// AMD's loads to LDS, of words or less on gfx9 and gfx10, of more on gfx950, and those of gfx1250.
std::vector<AsyncKernel> ldsKernels();
std::vector<AsyncKernel> wideLdsKernels();
std::vector<AsyncKernel> asyncLdsKernels();

/// NVIDIA's barriers in shared memory; LLVM 22 has code for the relaxed ones from PTX 8.6 on.
std::vector<AsyncKernel> phaseKernels();
std::vector<AsyncKernel> relaxedPhaseKernels();
std::vector<AsyncFault> phaseFaults();

/// NVIDIA's bulk copies, of boxes and of many bytes. The third parameter is an array of maps: of
/// `in` as 20 rows of 22 columns, 24 apart; the same swizzled by 32 bytes; of `out` as 6 rows of 8.
/// Their boxes are 8 by 8. Those to the block's own memory want PTX 8.6.
std::vector<AsyncKernel> bulkKernels();
std::vector<AsyncKernel> blockBulkKernels();
std::vector<AsyncFault> bulkFaults();

/// All of them, each with the machines that it is for.
struct AsyncRow {
  const char *machine;
  std::vector<AsyncKernel> kernels;
};
std::vector<AsyncRow> asyncTable();

/// A kernel of NVIDIA's whose body is given: @sh has room for eight elements for each thread, %t is
/// the thread.
std::string copyKernelText(const std::string &body);
/// The same of AMD's.
std::string ldsKernelText(const std::string &body);
/// Of NVIDIA's, with room for four barriers @full and four @empty; %isFirst is thread 0.
std::string phaseKernelText(const std::string &body);

/// Of NVIDIA's, with the same barriers, and with maps; %far is @sh as an address for a cluster.
std::string bulkKernelText(const std::string &body);

// --- pieces of such; a line that waits or arrives has the name of what it makes ---

/// Thread 0 makes barriers, and all meet.
std::string makeBarriers(const std::string &barriers);
inline const std::string kMeet = "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n";
inline const std::string kStore = "  store i32 %t, ptr addrspace(3) %own, align 4 ; <write>\n";
/// Until a phase of this parity is over.
std::string waitLoop(const std::string &name, const std::string &barrier,
                     const std::string &parity);
inline const std::string kAwait = waitLoop("wait", "@full", "0");
/// The body of the ring: warp 0 fills two slots in turn, warp 1 adds them up, and a lane of each
/// speaks for it.
std::string phaseRing();
std::string arriveAt(const std::string &name, const std::string &barrier);

/// The same ring, filled by bulk copies.
std::string bulkRing();
/// The barrier @full for one arrival, behind whose making there is a fence.
std::string makeFenced(const std::string &fence);
inline const std::string kMakingFence =
    "  call void @llvm.nvvm.fence.mbarrier_init.release.cluster()\n";
inline const std::string kCommitBulk = "  call void @llvm.nvvm.cp.async.bulk.commit.group()\n";
/// Thread 0 expects bytes at @full, and loads.
std::string loadFirst(int bytes, const std::string &load);

/// The first place of a text becomes another; empty where there is no such place.
std::string changed(std::string text, const std::string &from, const std::string &to);

} // namespace imbrex
