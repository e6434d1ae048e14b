#include "backend/emulate/model/tensor_map.h"
#include "tests/unit/emulate/async_kernels.h"
#include "tests/unit/emulate/launching.h"

#include <numeric>
#include <set>

using namespace imbrex;
using emulate::BoxSwizzle;
using emulate::Delivery;
using emulate::TensorMap;

namespace {

struct Launched {
  explicit Launched(const std::string &machine, const std::string &text)
      : emulation(machine, text) {
    const auto threads = 2 * static_cast<std::size_t>(machine::findMachine(machine)->warpSize);
    in.resize(8 * threads);
    out.resize(threads);
    emulation.array(in).array(out);
    if (text.find("ptr %map") != std::string::npos) describeArrays();
  }

  std::string report(std::uint64_t seed, Delivery delivery) {
    std::iota(in.begin(), in.end(), 100);
    std::ranges::fill(out, 0);
    return emulation.delivery(delivery).report(seed);
  }

  std::vector<std::int32_t> in, out;
  std::vector<TensorMap> maps;
  Emulation emulation;

private:
  void describeArrays() {
    TensorMap map;
    map.rank = 2;
    map.elementBytes = 4;
    map.box = {8, 8};
    map.extents = {22, 20};
    map.strides = {96};
    map.address = reinterpret_cast<std::uintptr_t>(in.data());
    TensorMap swizzled = map, ofOut = map;
    swizzled.swizzle = BoxSwizzle::Bytes32;
    ofOut.extents = {8, 6};
    ofOut.strides = {32};
    ofOut.address = reinterpret_cast<std::uintptr_t>(out.data());
    maps = {map, swizzled, ofOut};
    emulation.array(maps);
  }
};

void checkQuiet(const std::string &machine, const AsyncKernel &kernel) {
  CAPTURE(machine);
  CAPTURE(std::string(kernel.what));
  Launched launched(machine, kernel.text);
  std::vector<std::int32_t> expected(launched.out.size());
  for (std::size_t t = 0; t < expected.size(); ++t)
    expected[t] = kernel.result(static_cast<std::int32_t>(t));
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const Delivery delivery : {Delivery::Late, Delivery::Random}) {
      CAPTURE(seed);
      REQUIRE(launched.report(seed, delivery) == "");
      REQUIRE(launched.out == expected);
    }
}

std::string filledIn(std::string text, const Emulation &emulation) {
  for (std::size_t at; (at = text.find("{<")) != std::string::npos;) {
    const std::size_t end = text.find(">}", at);
    text.replace(at, end + 2 - at, emulation.at(text.substr(at + 2, end - at - 2)));
  }
  return text;
}

void checkFault(const std::string &machine, const AsyncFault &fault) {
  CAPTURE(std::string(fault.what));
  Launched launched(machine, fault.text);
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    for (const Delivery delivery : {Delivery::Late, Delivery::Random}) {
      CAPTURE(seed);
      const std::string report = launched.report(seed, delivery);
      CAPTURE(report);
      for (const std::string &part : fault.expected) {
        const std::string expected = filledIn(part, launched.emulation);
        CAPTURE(expected);
        CHECK(report.find(expected) != std::string::npos);
      }
    }
}

} // namespace

TEST_CASE(
    "copies that are waited for are what a plain load and store would be, whenever they land") {
  for (const AsyncRow &row : asyncTable())
    for (const AsyncKernel &kernel : row.kernels) checkQuiet(row.machine, kernel);
}

TEST_CASE("late copies land when they are waited for, others at any moment up to then") {
  Launched launched("sm_80", copyKernelText(R"(
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %own, ptr addrspace(1) %src)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %v = load i32, ptr addrspace(3) %own, align 4
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
  store i32 %v, ptr addrspace(1) %o, align 4
  ret void
)"));
  std::set<bool> seen;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    CHECK(launched.report(seed, Delivery::Late) != "");
    CHECK(std::ranges::all_of(launched.out, [](std::int32_t v) { return v == -1; }));
    CHECK(launched.report(seed, Delivery::Random) != "");
    for (std::size_t t = 0; t < launched.out.size(); ++t)
      seen.insert(launched.out[t] == 100 + static_cast<std::int32_t>(t));
  }
  CHECK(seen.size() == 2);
}

TEST_CASE("a profile counts the sectors that copies take") {
  Launched launched("sm_80", copyKernels().front().text);
  emulate::Counters counters;
  REQUIRE(launched.report(0, Delivery::Late) == "");
  REQUIRE(launched.emulation.report(0, &counters) == "");
  const auto isCopy = [](const emulate::AccessCounters &c) {
    return c.what == "asynchronous copy";
  };
  const auto copies = std::ranges::find_if(counters.accesses, isCopy);
  REQUIRE(copies != counters.accesses.end());
  CHECK(copies->requests == 2);
  CHECK(copies->leastSectors == 8);
  CHECK(copies->lanes == 64);
}

TEST_CASE("every mistake with barriers in shared memory is found under every seed") {
  for (const AsyncFault &fault : phaseFaults()) checkFault("sm_90a", fault);
}

TEST_CASE("every mistake with bulk copies is found under every seed, and its lines are named") {
  for (const AsyncFault &fault : bulkFaults()) checkFault("sm_90a", fault);
}
