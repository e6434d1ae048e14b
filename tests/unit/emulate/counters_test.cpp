#include "tests/unit/emulate/launching.h"
#include "tests/unit/emulate/vendor.h"

using namespace imbrex;

namespace {

const emulate::AccessCounters &at(const emulate::Counters &counters, const std::string &place) {
  for (const emulate::AccessCounters &access : counters.accesses)
    if (toText(access.where) == place) return access;
  FAIL("no access at " << place);
  return counters.accesses.front();
}

/// Of a warp of 32 lanes that store `bytes` each, `stride` bytes apart.
emulate::AccessCounters sharedStore(std::uint32_t bytes, std::uint32_t stride) {
  const std::string type = "<" + std::to_string(bytes / 4) + " x i32>";
  Emulation emulation("sm_90a", R"(
target triple = "nvptx64-nvidia-cuda"
@sh = internal addrspace(3) global [4096 x i8] poison, align 16
define ptx_kernel void @k() {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %o = mul i32 %t, )" + std::to_string(stride) +
                                    R"(
  %p = getelementptr i8, ptr addrspace(3) @sh, i32 %o
  store )" + type + " zeroinitializer, ptr addrspace(3) %p, align 4 ; <store>\n  ret void\n}\n");
  emulate::Counters counters;
  CHECK(emulation.threads(32).report(0, &counters) == "");
  return at(counters, emulation.at("store"));
}

} // namespace

TEST_CASE("bank conflicts are counted as the hardware serves lanes") {
  struct Expected {
    std::uint32_t bytes, stride;
    std::uint64_t cycles, least;
  };
  // Lanes side by side; two, and all of them, in one bank; padded; wide accesses in parts.
  for (const Expected &e :
       {Expected{4, 4, 1, 1}, Expected{4, 8, 2, 1}, Expected{4, 128, 32, 1}, Expected{8, 8, 2, 2},
        Expected{16, 16, 4, 4}, Expected{16, 32, 8, 4}, Expected{16, 128, 32, 4}}) {
    CAPTURE(e.bytes);
    CAPTURE(e.stride);
    const emulate::AccessCounters counters = sharedStore(e.bytes, e.stride);
    CHECK(counters.requests == 1);
    CHECK(counters.lanes == 32);
    CHECK(counters.cycles == e.cycles);
    CHECK(counters.leastCycles == e.least);
  }
}

TEST_CASE("a profile has one row for accesses of a line that are alike") {
  const auto access = [](std::uint32_t line, std::uint32_t bytes, std::uint64_t requests) {
    return emulate::AccessCounters{.where = {.file = "k.cpp", .line = line},
                                   .what = "load",
                                   .bytesPerLane = bytes,
                                   .requests = requests,
                                   .lanes = 32 * requests,
                                   .sectors = 5 * requests,
                                   .lines = 2 * requests,
                                   .leastSectors = 4 * requests};
  };
  const emulate::Counters counters{
      .accesses = {access(3, 4, 2), access(4, 4, 1), access(3, 4, 4), access(3, 8, 1)}};
  const std::string text = toText(counters);
  const std::string rest = " sectors each, least 4.00, 2.00 lines\n";
  CHECK(text.find("requests of warps\n"
                  "k.cpp:3" +
                  std::string(22, ' ') + "global load" + std::string(13, ' ') +
                  "   4 B         6    5.00" + rest + "k.cpp:4") != std::string::npos);
  const std::string json = toJson(counters);
  CHECK(json.find("\"lanes\": 192") != std::string::npos);
  CHECK(json.find("\"requests\": 2") == std::string::npos);
}

TEST_CASE("sectors and instructions are counted, for each line of the source") {
  for (const Vendor &vendor : {nvidia(), amd()}) {
    CAPTURE(vendor.machine);
    const auto size = static_cast<std::size_t>(vendor.threads);
    alignas(128) std::array<std::int32_t, 256> in{}, out{};
    Emulation emulation(vendor.machine, kernelText(vendor, R"(
  %two = mul i32 %t, 2
  %p = getelementptr i32, ptr addrspace(1) %in, i32 %two
  %v = load i32, ptr addrspace(1) %p, align 4 ; <strided>
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %v, ptr addrspace(1) %o, align 4 ; <dense>
  ret void
)"));
    for (auto *array : {&in, &out})
      emulation.argument({.data = reinterpret_cast<std::byte *>(array->data()), .bytes = 1024});
    emulation.argument({.bytes = 0}).argument({.bytes = 0});
    emulate::Counters counters;
    CHECK(emulation.report(0, &counters) == "");
    const auto lanes = static_cast<std::uint64_t>(vendor.threads / 2);
    const emulate::AccessCounters &strided = at(counters, emulation.at("strided"));
    CHECK(strided.requests == 2);
    CHECK(strided.sectors == 2 * lanes * 8 / 32);
    CHECK(strided.leastSectors == 2 * lanes * 4 / 32);
    const emulate::AccessCounters &dense = at(counters, emulation.at("dense"));
    CHECK(dense.sectors == dense.leastSectors);
    const auto executed = [&](emulate::InstructionKind kind) {
      return counters.instructions[static_cast<std::size_t>(kind)];
    };
    CHECK(executed(emulate::InstructionKind::GlobalLoad) == size);
    CHECK(executed(emulate::InstructionKind::Integer) >= size);
    CHECK(toText(counters).find(emulation.at("strided")) != std::string::npos);
    CHECK(toJson(counters).find("\"sectors\": " + std::to_string(strided.sectors)) !=
          std::string::npos);
  }
}
