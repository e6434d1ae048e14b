// Loads from and stores to AMD's buffer resources.

#include "tests/unit/emulate/launching.h"

using namespace imbrex;

namespace {

/// Each of 64 lanes does `body` with a buffer of so many bytes of `in`, or of `out`; %o is 16 times
/// the lane's number.
std::string bufferText(const std::string &parameter, int bytes, const std::string &body) {
  return R"(
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %o = mul i32 %t, 16
  %p = getelementptr i8, ptr addrspace(1) %out, i32 %o
  %b = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %)" +
         parameter + ", i16 0, i64 " + std::to_string(bytes) + ", i32 159744)\n" + body +
         "  ret void\n}\n";
}

/// Behind a load of what is there of the first words.
std::string loadText(int bytes, const std::string &scalar = "0", const std::string &policy = "0") {
  return bufferText("in", bytes,
                    "  %first = call <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32(ptr "
                    "addrspace(8) %b, i32 0, i32 0, i32 0)\n  %v = call <4 x i32> "
                    "@llvm.amdgcn.raw.ptr.buffer.load.v4i32(ptr addrspace(8) "
                    "%b, i32 %o, i32 " +
                        scalar + ", i32 " + policy +
                        ") ; <load>\n  store <4 x i32> %v, ptr addrspace(1) %p, align 16\n");
}

struct BufferLaunch {
  std::vector<std::int32_t> in, out;
  Emulation emulation;

  explicit BufferLaunch(const std::string &text, const std::string &machine = "gfx942")
      : in(256), out(256, -1), emulation(machine, text) {
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::int32_t>(i) + 1;
    emulation.threads(64).array(in).array(out);
  }
};

} // namespace

TEST_CASE("words behind a buffer's end are zeros, one by one") {
  for (const int words : {256, 202, 200, 1, 0}) {
    CAPTURE(words);
    BufferLaunch launched(loadText(4 * words));
    emulate::Counters counters;
    REQUIRE(launched.emulation.report(0, &counters) == "");
    for (int i = 0; i < 256; ++i) {
      const auto at = static_cast<std::size_t>(i);
      CHECK(launched.out[at] == (i < words ? launched.in[at] : 0));
    }
    const auto kind = static_cast<std::size_t>(emulate::InstructionKind::GlobalLoad);
    CHECK(counters.instructions[kind] == 2 * 64);
  }
}

TEST_CASE("a buffer's scalar offset is added, and not compared with its size") {
  BufferLaunch launched(loadText(4 * 128, "512"));
  REQUIRE(launched.emulation.report() == "");
  for (std::size_t i = 0; i < 256; ++i)
    CHECK(launched.out[i] == (i < 128 ? launched.in[i + 128] : 0));
}

TEST_CASE("stores behind a buffer's end are dropped, and others are stores like others") {
  const std::string store = "  call void @llvm.amdgcn.raw.ptr.buffer.store.v4i32(<4 x i32> <i32 7, "
                            "i32 8, i32 9, i32 10>, ptr addrspace(8) %b, i32 %o, i32 0, i32 0) ; "
                            "<store>\n";
  BufferLaunch launched(bufferText("out", 4 * 102, store));
  REQUIRE(launched.emulation.report() == "");
  for (int i = 0; i < 256; ++i)
    CHECK(launched.out[static_cast<std::size_t>(i)] == (i < 102 ? 7 + i % 4 : -1));
  const std::string read = "  %q = xor i32 %o, 16\n  %r = getelementptr i8, ptr addrspace(1) %out, "
                           "i32 %q\n  %w = load i32, ptr addrspace(1) %r, align 4\n";
  BufferLaunch racing(bufferText("out", 1024, store + read));
  CHECK(names(racing.emulation.report(), {"in no order", racing.emulation.at("store")}));
}

TEST_CASE("elements of less than a word come whole or not at all") {
  for (const std::string type : {"i8", "i16", "half"}) {
    CAPTURE(type);
    const std::string name = type == "half" ? "f16" : type;
    const std::string body = "  %v = call " + type + " @llvm.amdgcn.raw.ptr.buffer.load." + name +
                             "(ptr addrspace(8) %b, i32 %o, i32 0, i32 0)\n  store " + type +
                             " %v, ptr addrspace(1) %p, align 4\n";
    BufferLaunch launched(bufferText("in", 160, body));
    REQUIRE(launched.emulation.report() == "");
    for (std::size_t i = 0; i < 64; ++i) {
      const std::int32_t mask = type == "i8" ? 0xff : 0xffff;
      CHECK((launched.out[4 * i] & mask) == (i < 10 ? launched.in[4 * i] & mask : 0));
    }
  }
}

TEST_CASE("a buffer that is larger than its argument does not lead into another one") {
  std::vector<std::int32_t> both(512);
  Emulation emulation("gfx942", loadText(4096, "512"));
  for (const std::size_t first : {0, 256})
    emulation.argument({.data = reinterpret_cast<std::byte *>(&both[first]), .bytes = 1024});
  const std::string report = emulation.threads(64).report();
  CHECK(names(report, {emulation.at("load") + ": error:", "of 'in', which has 1024 bytes"}));
}

TEST_CASE("swizzled buffers have no model") {
  for (const auto &[machine, policy] :
       {std::pair("gfx942", "8"), {"gfx1100", "8"}, {"gfx1201", "64"}}) {
    BufferLaunch launched(loadText(1024, "0", policy), machine);
    CHECK(names(launched.emulation.report(), {"no model of 'llvm.amdgcn.raw.ptr.buffer.load"}));
  }
  BufferLaunch cached(loadText(1024, "0", "8"), "gfx1201");
  CHECK(cached.emulation.report() == "");
}
