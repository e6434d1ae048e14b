#include "tests/unit/emulate/async_kernels.h"

namespace imbrex {

std::string bulkKernelText(const std::string &body) {
  return R"(
target triple = "nvptx64-nvidia-cuda"
@sh = internal addrspace(3) global [512 x i32] poison, align 1024
@full = internal addrspace(3) global [4 x i64] poison, align 8
@empty = internal addrspace(3) global [4 x i64] poison, align 8
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, ptr %map) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %m = sub i32 63, %t
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %t
  %own = getelementptr i32, ptr addrspace(3) @sh, i32 %t
  %mirrored = getelementptr i32, ptr addrspace(3) @sh, i32 %m
  %far = addrspacecast ptr addrspace(3) @sh to ptr addrspace(7)
  %swizzledMap = getelementptr i8, ptr %map, i32 128
  %outMap = getelementptr i8, ptr %map, i32 256
  %isFirst = icmp eq i32 %t, 0
)" + body +
         "}\n";
}

std::string makeFenced(const std::string &fence) {
  return makeBarriers(
      "  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @full, i32 1) ; "
      "<make>\n" +
      fence);
}

std::string loadFirst(int bytes, const std::string &load) {
  return R"(
  br i1 %isFirst, label %load, label %loaded
load:
  %s = call i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3) @full, i32 )" +
         std::to_string(bytes) + ")\n" + load + "  br label %loaded\nloaded:\n";
}

std::string bulkRing() {
  std::string ring = phaseRing();
  const std::string from = "  %i.value = load";
  const std::string to = "tell.full:\n" + arriveAt("arrive.full", "%i.full");
  const std::size_t first = ring.find(from), last = ring.find(to) + to.size();
  ring.replace(first, last - first, R"(
  %i.at = mul i32 %i.slot, 32
  %i.to = getelementptr i32, ptr addrspace(3) %place, i32 %i.at
  %i.far = addrspacecast ptr addrspace(3) %i.to to ptr addrspace(7)
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  br i1 %speaks, label %tell.full, label %load.next
tell.full:
  %i.s = call i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3) %i.full, i32 128) ; <expect>
  call void @llvm.nvvm.cp.async.bulk.global.to.shared.cluster(ptr addrspace(7) %i.far, ptr addrspace(3) %i.full, ptr addrspace(1) %i.from, i32 128, i16 0, i64 0, i1 false, i1 false) ; <copy>
)");
  const std::string made = "  br label %made\nmade:\n";
  ring.insert(ring.find(made), kMakingFence);
  return ring;
}

namespace {

const std::string kLoadPlain =
    "  call void @llvm.nvvm.cp.async.bulk.global.to.shared.cluster(ptr addrspace(7) %far, ptr "
    "addrspace(3) @full, ptr addrspace(1) %in, i32 256, i16 0, i64 0, i1 false, i1 false)\n";
const std::string kGive = R"(
  %w = load i32, ptr addrspace(3) %own, align 4
  store i32 %w, ptr addrspace(1) %o, align 4
  ret void
)";

std::string loadBox(const std::string &map) {
  return "  call void @llvm.nvvm.cp.async.bulk.tensor.g2s.tile.2d(ptr addrspace(7) %far, ptr "
         "addrspace(3) @full, ptr " +
         map + ", i32 18, i32 -2, i16 0, i64 0, i1 false, i1 false, i32 0)\n";
}

/// What the box that begins at column 18 and row -2 has at a word.
std::int32_t boxed(std::int32_t word) {
  const std::int32_t x = 18 + (word & 7), y = (word >> 3) - 2;
  return x < 22 && y >= 0 ? 100 + 24 * y + x : 0;
}

const std::string kStoreFenced = "  store i32 %t, ptr addrspace(3) %own, align 4\n"
                                 "  call void @llvm.nvvm.fence.proxy.async.shared_cta()\n"
                                 "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n";

std::string storeFirst(const std::string &store) {
  return "  br i1 %isFirst, label %store, label %end\nstore:\n" + store +
         "  br label %end\nend:\n  ret void\n";
}

const std::string kStoreAll =
    "  call void @llvm.nvvm.cp.async.bulk.shared.cta.to.global(ptr addrspace(1) %out, ptr "
    "addrspace(3) @sh, i32 256, i64 0, i1 false)\n";
const std::string kAwaitAll = "  call void @llvm.nvvm.cp.async.bulk.wait.group(i32 0)\n";

std::vector<AsyncKernel> loads() {
  return {
      {"many bytes end at a barrier",
       bulkKernelText(makeFenced(kMakingFence) + loadFirst(256, kLoadPlain) + kAwait + R"(
  %w = load i32, ptr addrspace(3) %mirrored, align 4
  store i32 %w, ptr addrspace(1) %o, align 4
  ret void
)"),
       [](std::int32_t t) { return 163 - t; }},
      {"a fence of all serves the making of barriers, too",
       bulkKernelText(makeFenced("  call void @llvm.nvvm.fence.proxy.async()\n") +
                      loadFirst(256, kLoadPlain) + kAwait + kGive),
       [](std::int32_t t) { return 100 + t; }},
      {"a box is zero outside of the tensor",
       bulkKernelText(makeFenced(kMakingFence) + loadFirst(256, loadBox("%map")) + kAwait + kGive),
       boxed},
      {"a box is swizzled",
       bulkKernelText(makeFenced(kMakingFence) + loadFirst(256, loadBox("%swizzledMap")) + kAwait +
                      kGive),
       [](std::int32_t t) { return boxed(t ^ (t >> 5 & 1) << 2); }},
      {"a box goes where plain stores were fenced",
       bulkKernelText(makeFenced(kMakingFence) + kStoreFenced + loadFirst(256, loadBox("%map")) +
                      kAwait + kGive),
       boxed},
      {"a ring that is filled by bulk copies", bulkKernelText(bulkRing()),
       [](std::int32_t t) { return t < 32 ? 0 : 7 * (100 + t - 32) + 32 * 21; }},
  };
}

std::vector<AsyncKernel> stores() {
  return {
      {"a box is stored, and not outside of the tensor",
       bulkKernelText(kStoreFenced + storeFirst(R"(
  call void @llvm.nvvm.cp.async.bulk.tensor.s2g.tile.2d(ptr addrspace(3) @sh, ptr %outMap, i32 0, i32 0, i64 0, i1 false)
)" + kCommitBulk + "  call void @llvm.nvvm.cp.async.bulk.wait.group(i32 0)\n")),
       [](std::int32_t t) { return t < 48 ? t : 0; }},
      {"the thread that copies fences what others have stored",
       bulkKernelText("  store i32 %t, ptr addrspace(3) %own, align 4\n" + kMeet +
                      storeFirst("  call void @llvm.nvvm.fence.proxy.async()\n" + kStoreAll +
                                 kCommitBulk + kAwaitAll)),
       [](std::int32_t t) { return t; }},
      {"what small copies have brought is fenced like stores", bulkKernelText(R"(
  %src = getelementptr i32, ptr addrspace(1) %in, i32 %t
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %own, ptr addrspace(1) %src)
  call void @llvm.nvvm.cp.async.wait.all()
  call void @llvm.nvvm.fence.proxy.async()
)" + kMeet + storeFirst(kStoreAll + kCommitBulk + kAwaitAll)),
       [](std::int32_t t) { return 100 + t; }},
      {"shared memory is free when its bytes have been taken",
       bulkKernelText(kStoreFenced + storeFirst(kStoreAll + kCommitBulk + R"(
  call void @llvm.nvvm.cp.async.bulk.wait.group.read(i32 0)
  store i32 7, ptr addrspace(3) @sh, align 4
)")),
       [](std::int32_t t) { return t; }},
      {"the thread reads what has landed",
       bulkKernelText(kStoreFenced + storeFirst(kStoreAll + kCommitBulk + kAwaitAll + R"(
  %second = getelementptr i32, ptr addrspace(1) %out, i32 1
  %v = load i32, ptr addrspace(1) %second, align 4
  store i32 %v, ptr addrspace(1) %out, align 4
)")),
       [](std::int32_t t) { return t == 0 ? 1 : t; }},
      {"warps change their registers, and one lane is elected", bulkKernelText(R"(
  call void @llvm.nvvm.setmaxnreg.dec.sync.aligned.u32(i32 40)
  %elected = call {i32, i1} @llvm.nvvm.elect.sync(i32 -1)
  %is = extractvalue {i32, i1} %elected, 1
  %v = zext i1 %is to i32
  call void @llvm.nvvm.setmaxnreg.inc.sync.aligned.u32(i32 232)
  store i32 %v, ptr addrspace(1) %o, align 4
  ret void
)"),
       [](std::int32_t t) { return t % 32 == 0 ? 1 : 0; }},
  };
}

} // namespace

std::vector<AsyncKernel> bulkKernels() {
  std::vector<AsyncKernel> all = loads();
  for (const AsyncKernel &kernel : stores()) all.push_back(kernel);
  return all;
}

std::vector<AsyncKernel> blockBulkKernels() {
  return {
      {"bytes and boxes go to the block's own memory",
       bulkKernelText(makeFenced(kMakingFence) + loadFirst(384, R"(
  %behind = getelementptr i32, ptr addrspace(3) @sh, i32 64
  call void @llvm.nvvm.cp.async.bulk.tensor.g2s.cta.tile.2d(ptr addrspace(3) @sh, ptr addrspace(3) @full, ptr %map, i32 18, i32 -2, i64 0, i1 false)
  call void @llvm.nvvm.cp.async.bulk.global.to.shared.cta(ptr addrspace(3) %behind, ptr addrspace(3) @full, ptr addrspace(1) %in, i32 128, i64 0, i1 false)
)") + kAwait + R"(
  %other = and i32 %t, 31
  %second = getelementptr i32, ptr addrspace(3) @sh, i32 64
  %at = getelementptr i32, ptr addrspace(3) %second, i32 %other
  %v = load i32, ptr addrspace(3) %at, align 4
  %w = load i32, ptr addrspace(3) %own, align 4
  %sum = add i32 %v, %w
  store i32 %sum, ptr addrspace(1) %o, align 4
  ret void
)"),
       [](std::int32_t t) { return boxed(t) + 100 + (t & 31); }},
  };
}

} // namespace imbrex
