#include "tests/unit/emulate/async_kernels.h"

namespace imbrex {
namespace {

const std::string kExit = "  ret void ; <exit>\n";
const std::string kFence = "  call void @llvm.nvvm.fence.proxy.async.shared_cta()\n";
const std::string kWaitTaken = "  call void @llvm.nvvm.cp.async.bulk.wait.group.read(i32 0)\n";
const std::string kMade = makeFenced(kMakingFence);
const std::string kRead = "  %w = load i32, ptr addrspace(3) %own, align 4 ; <read>\n";

std::string load(const std::string &to, const std::string &from, int bytes) {
  return "  call void @llvm.nvvm.cp.async.bulk.global.to.shared.cluster(ptr addrspace(7) " + to +
         ", ptr addrspace(3) @full, ptr addrspace(1) " + from + ", i32 " + std::to_string(bytes) +
         ", i16 0, i64 0, i1 false, i1 false) ; <copy>\n";
}
const std::string kLoadBulk = load("%far", "%in", 256);

std::string box(const std::string &dimensions, const std::string &map,
                const std::string &coordinates) {
  return "  call void @llvm.nvvm.cp.async.bulk.tensor.g2s.tile." + dimensions +
         "(ptr addrspace(7) %far, ptr addrspace(3) @full, ptr " + map + coordinates +
         ", i16 0, i64 0, i1 false, i1 false, i32 0) ; <copy>\n";
}

std::string first(const std::string &what) {
  return "  br i1 %isFirst, label %one, label %others\none:\n" + what +
         "  br label %others\nothers:\n";
}
const std::string kStoreBulk =
    "  call void @llvm.nvvm.cp.async.bulk.shared.cta.to.global(ptr addrspace(1) %out, ptr "
    "addrspace(3) @sh, i32 256, i64 0, i1 false) ; <copy>\n";

std::vector<AsyncFault> unfenced() {
  const std::vector<std::string> readUnfenced{
      "{<copy>}: error: 'asynchronous store of bytes' in thread 0",
      "reads a byte of shared memory that 'store' at {<write>} in thread",
      "with no fence for the asynchronous proxy between"};
  const std::string taken = kStoreBulk + kCommitBulk + kWaitTaken;
  return {
      {"the making of a barrier has not crossed to the other proxy",
       makeFenced("") + loadFirst(256, kLoadBulk) + kAwait + kExit,
       {"{<copy>}: error:", "ends at a byte of shared memory that 'making of a barrier' "
                            "at {<make>} in thread 0"}},
      {"the fence stands in front of the making",
       changed(makeFenced(""), "make:\n", "make:\n" + kMakingFence) + loadFirst(256, kLoadBulk) +
           kAwait + kExit,
       {"{<copy>}: error:", "ends at a byte of shared memory that", "{<make>}"}},
      {"stores are not fenced", kStore + kMeet + first(taken) + kExit, readUnfenced},
      {"a fence stands in front of the stores", kFence + kStore + kMeet + first(taken) + kExit,
       readUnfenced},
      {"only the thread that copies has fenced, and before the others' stores",
       kStore + first(kFence) + kMeet + "  br i1 %isFirst, label %copy, label %end\ncopy:\n" +
           taken + "  br label %end\nend:\n" + kExit,
       readUnfenced},
      {"what small copies have brought is not fenced",
       R"(
  %src = getelementptr i32, ptr addrspace(1) %in, i32 %t
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %own, ptr addrspace(1) %src) ; <write>
  call void @llvm.nvvm.cp.async.wait.all()
)" + kMeet +
           first(taken) + kExit,
       {"{<copy>}: error:", "reads a byte of shared memory that "
                            "'asynchronous copy' at {<write>} in thread"}},
      {"a box goes where plain stores were not fenced",
       kMade + kStore + kMeet + loadFirst(256, box("2d", "%map", ", i32 0, i32 0")) + kAwait +
           kExit,
       {"{<copy>}: error:", "writes a byte of shared memory that 'store' at {<write>} in thread"}},
      {"fenced stores are followed by no barrier",
       kStore + kFence + first(taken) + kExit,
       {"{<copy>}", "{<write>}", "error:"}},
  };
}

std::vector<AsyncFault> tooEarly() {
  return {
      {"a bulk copy is read before its barrier's phase is over",
       kMade + loadFirst(256, kLoadBulk) + kMeet + kRead + kAwait + kExit,
       {"{<read>}: error: 'load' in thread", "reads a byte of shared memory that",
        "{<copy>}, issued by thread 0 ", "may still be writing"}},
      {"the phase of another barrier is waited for",
       changed(kMade, kMakingFence,
               "  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @empty, i32 64)\n" +
                   kMakingFence) +
           loadFirst(256, kLoadBulk) + arriveAt("arrive", "@empty") +
           waitLoop("wait.empty", "@empty", "0") + kRead + kAwait + kExit,
       {"{<read>}: error:", "{<copy>}, issued by thread 0 ", "may still be writing"}},
      {"the second of two copies is waited for, and the first is read",
       changed(kMade, kMakingFence,
               "  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @empty, i32 1)\n" +
                   kMakingFence) +
           loadFirst(256, kLoadBulk + R"(
  %e = call i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3) @empty, i32 256)
  %behind = getelementptr i32, ptr addrspace(3) @sh, i32 64
  %farther = addrspacecast ptr addrspace(3) %behind to ptr addrspace(7)
  call void @llvm.nvvm.cp.async.bulk.global.to.shared.cluster(ptr addrspace(7) %farther, ptr addrspace(3) @empty, ptr addrspace(1) %in, i32 256, i16 0, i64 0, i1 false, i1 false)
)") + waitLoop("wait.empty", "@empty", "0") +
           kRead + kAwait + kExit,
       {"{<read>}: error:", "{<copy>}, issued by thread 0 ", "may still be writing"}},
      {"nobody waits for a bulk copy",
       kMade + loadFirst(256, kLoadBulk) + kExit,
       {"{<copy>}: error:", "may still be under way when the thread ends at {<exit>}"}},
      {"shared memory is overwritten while it is stored",
       kStore + kFence + kMeet +
           first(kStoreBulk + kCommitBulk +
                 "  store i32 7, ptr addrspace(3) @sh, align 4 ; <again>\n" + kWaitTaken) +
           kExit,
       {"{<again>}: error:", "writes a byte of shared memory that", "{<copy>}",
        "may still be reading"}},
      {"a store that has been taken has not landed",
       kStore + kFence + kMeet +
           first(kStoreBulk + kCommitBulk + kWaitTaken +
                 "  %v = load i32, ptr addrspace(1) %out, align 4 ; <read>\n") +
           kExit,
       {"{<read>}: error:", "reads a byte of 'out' that", "{<copy>}", "may still be writing"}},
      {"a store's group is not committed",
       kStore + kFence + kMeet +
           first(kStoreBulk + kWaitTaken +
                 "  store i32 7, ptr addrspace(3) @sh, align 4 ; <again>\n" + kCommitBulk +
                 kWaitTaken) +
           kExit,
       {"{<again>}: error:", "{<copy>}", "may still be reading"}},
      {"a thread ends before its store has been taken",
       kStore + kFence + kMeet + first(kStoreBulk + kCommitBulk) + kExit,
       {"{<copy>}: error:", "may still be under way when the thread ends at {<exit>}"}},
      {"the ring's slots are filled before they are given back",
       changed(bulkRing(), waitLoop("empty", "%i.empty", "%i.phase"), ""),
       {"error:", "{<expect>}"}},
  };
}

std::vector<AsyncFault> wrongBytes() {
  return {
      {"fewer bytes are expected than come",
       kMade + loadFirst(64, kLoadBulk) + kAwait + kExit,
       {"{<wait>}: error:", "which never ends: it lacks 0 arrivals and -192 bytes"}},
      {"more bytes are expected than come",
       kMade + loadFirst(512, kLoadBulk) + kAwait + kExit,
       {"{<wait>}: error:", "which never ends: it lacks 0 arrivals and 256 bytes"}},
      {"bytes are no multiple of 16",
       kMade + loadFirst(20, load("%far", "%in", 20)) + kAwait + kExit,
       {"{<copy>}: error:", "is given 20 bytes; they must be a multiple of 16"}},
      {"a source is not aligned",
       kMade +
           loadFirst(16, "  %odd = getelementptr i32, ptr addrspace(1) %in, i32 1\n" +
                             load("%far", "%odd", 16)) +
           kAwait + kExit,
       {"{<copy>}: error:", "is given an address that ends in", "it must be a multiple of 16"}},
      {"a source goes beyond the argument",
       kMade + loadFirst(4096, load("%far", "%in", 4096)) + kAwait + kExit,
       {"{<copy>}: error:", "of 4096 bytes touches byte 0 of 'in', which has 2048 bytes"}},
      {"a map has another rank",
       kMade + loadFirst(256, box("1d", "%map", ", i32 0")) + kAwait + kExit,
       {"{<copy>}: error:", "is given a tensor map; its rank is 2, not 1"}},
      {"there is no map",
       kMade +
           loadFirst(256, "  %data = addrspacecast ptr addrspace(1) %in to ptr\n"
                          "  %bits = ptrtoint ptr %data to i64\n"
                          "  %up = add i64 %bits, 63\n  %down = and i64 %up, -64\n"
                          "  %none = inttoptr i64 %down to ptr\n" +
                              box("2d", "%none", ", i32 0, i32 0")) +
           kAwait + kExit,
       {"{<copy>}: error:", "is given a tensor map; the memory does not hold one"}},
      {"a box is for several blocks",
       kMade + loadFirst(256, changed(kLoadBulk, "i1 false, i1 false", "i1 true, i1 false")) +
           kAwait + kExit,
       {"{<copy>}: error: the emulator has no model of "
        "'llvm.nvvm.cp.async.bulk.global.to.shared.cluster'"}},
  };
}

} // namespace

std::vector<AsyncFault> bulkFaults() {
  std::vector<AsyncFault> all;
  for (const auto &faults : {unfenced(), tooEarly(), wrongBytes()})
    for (AsyncFault fault : faults) {
      fault.text = bulkKernelText(fault.text);
      all.push_back(fault);
    }
  return all;
}

} // namespace imbrex
