#include "tests/unit/emulate/launching.h"

#include <numeric>

using namespace imbrex;

namespace {

/// Reverses the block's 128 numbers through shared memory; the middle is to be filled in.
std::string reversal(const std::string &before, const std::string &after) {
  return R"(
target triple = "amdgcn-amd-amdhsa"
target datalayout = "e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-A5-G1"
@sh = internal addrspace(3) global [128 x i32] poison, align 16
define amdgpu_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr i32, ptr addrspace(1) %in, i32 %t
  %v = load i32, ptr addrspace(1) %p, align 4
  %q = getelementptr i32, ptr addrspace(3) @sh, i32 %t
  store i32 %v, ptr addrspace(3) %q, align 4 ; <store>
)" + before +
         "  call void @llvm.amdgcn.s.barrier() ; <barrier>\n" + after + R"(
  %u = sub i32 127, %t
  %r = getelementptr i32, ptr addrspace(3) @sh, i32 %u
  %w = load i32, ptr addrspace(3) %r, align 4 ; <read>
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %w, ptr addrspace(1) %o, align 4
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()
)";
}

const std::string kRelease = "  fence syncscope(\"workgroup\") release\n";
const std::string kAcquire = "  fence syncscope(\"workgroup\") acquire\n";

std::string reportOf(const std::string &text, std::vector<std::int32_t> &out) {
  std::vector<std::int32_t> in(128);
  std::iota(in.begin(), in.end(), 0);
  std::string all;
  Emulation emulation("gfx942", text);
  emulation.array(in).array(out);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::string report = emulation.report(seed);
    if (seed == 0) all = report;
    CHECK(report.empty() == all.empty());
  }
  return all;
}

} // namespace

TEST_CASE("numbers are reversed through shared memory") {
  std::vector<std::int32_t> out(128);
  CHECK(reportOf(reversal(kRelease, kAcquire), out) == "");
  for (int i = 0; i < 128; ++i) CHECK(out[static_cast<std::size_t>(i)] == 127 - i);
}

TEST_CASE("a barrier orders nothing without a release before it and an acquire after it") {
  std::vector<std::int32_t> out(128);
  for (const bool released : {false, true}) {
    const std::string text = reversal(released ? kRelease : "", released ? "" : kAcquire);
    const std::string report = reportOf(text, out);
    CAPTURE(report);
    CHECK(names(report,
                {"in no order", LocatedText(text).at("store"), LocatedText(text).at("read")}));
  }
}

TEST_CASE("a fence that reaches only the wave does not order the block") {
  std::vector<std::int32_t> out(128);
  const std::string text = reversal("  fence syncscope(\"wavefront\") release\n", kAcquire);
  CHECK(names(reportOf(text, out), {"in no order"}));
}
