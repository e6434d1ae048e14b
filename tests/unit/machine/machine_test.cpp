#include "backend/machine/machine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MathExtras.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace machine = imbrex::machine;
using machine::Family;
using machine::Machine;

namespace {

bool isOlderThanTen(const Machine &machine) { return machine.name.starts_with("gfx9"); }

} // namespace

TEST_CASE(
    "a name that no target is like is answered by the list of all, another by the one meant") {
  const auto answerTo = [](const char *name) {
    imbrex::Diagnostics diagnostics;
    CHECK(machine::machineNamed(name, diagnostics) == nullptr);
    return diagnostics.all().front();
  };
  CHECK(answerTo("sm90").hint == "did you mean 'sm_90a'?");
  const imbrex::Diagnostic foreign = answerTo("cpu");
  CHECK(foreign.kind == imbrex::Diag::UnknownTarget);
  CHECK(foreign.hint.starts_with("there are host, "));
  for (const Machine &machine : machine::allMachines())
    CHECK(foreign.hint.find(machine.name) != std::string::npos);
}

TEST_CASE("every target that is promised has a row") {
  constexpr const char *kPromised[] = {
      "sm_75",   "sm_80",   "sm_86",          "sm_89",         "sm_90a",       "sm_100a",
      "sm_103a", "sm_100f", "sm_120a",        "sm_121a",       "sm_120f",      "gfx90a",
      "gfx942",  "gfx950",  "gfx1030",        "gfx1100",       "gfx1151",      "gfx1200",
      "gfx1201", "gfx1250", "gfx9-4-generic", "gfx11-generic", "gfx12-generic"};
  for (const char *name : kPromised) {
    CAPTURE(name);
    REQUIRE(machine::findMachine(name) != nullptr);
    CHECK(machine::findMachine(name)->name == name);
  }
  CHECK(machine::allMachines().size() == std::size(kPromised));
}

TEST_CASE("names are unique, and what is no target is not found") {
  std::set<std::string_view> names;
  for (const Machine &machine : machine::allMachines()) CHECK(names.insert(machine.name).second);
  for (const char *name : {"", "sm_90", "gfx94", "host", "sm_90a "})
    CHECK(machine::findMachine(name) == nullptr);
}

TEST_CASE("who names a product is told the target that it is") {
  const auto meant = [](std::string_view name) {
    imbrex::Diagnostics diagnostics;
    CHECK(machine::machineNamed(name, diagnostics) == nullptr);
    REQUIRE(diagnostics.all().size() == 1);
    return diagnostics.all()[0].hint;
  };
  CHECK(meant("A100") == "did you mean 'sm_80'?");
  CHECK(meant("a10") == "did you mean 'sm_86'?");
  CHECK(meant("H100-SXM") == "did you mean 'sm_90a'?");
  CHECK(meant("RTX 4090") == "did you mean 'sm_89'?");
  CHECK(meant("mi300x") == "did you mean 'gfx942'?");
  CHECK(meant("gfx94") == "did you mean 'gfx942'?");
  CHECK(meant("V100").starts_with("there are host, sm_75, "));
}

TEST_CASE("the numbers of every machine fit together") {
  for (const Machine &m : machine::allMachines()) {
    CAPTURE(std::string(m.name));
    CHECK((m.warpSize == 32 || m.warpSize == 64));
    CHECK(m.maxThreads % m.warpSize == 0);
    CHECK(m.maxWarpsPerCore * m.warpSize >= m.maxThreads);
    CHECK(m.maxWarpsPerCore % m.partitionsPerCore == 0);
    CHECK(m.maxBlocksPerCore <= m.maxWarpsPerCore);
    CHECK(m.parameterBytes % 4 == 0);
    CHECK(m.parameterBytes >= 4352);
    CHECK(m.staticSharedMemoryBytes <= m.sharedMemoryBytes);
    CHECK(m.sharedMemoryBytes + m.reservedSharedMemoryBytes <= m.sharedMemoryPerCore);
    CHECK(m.sharedMemoryPerCore % m.sharedMemoryGranule == 0);
    CHECK(m.reservedSharedMemoryBytes % m.sharedMemoryGranule == 0);
    CHECK(llvm::isPowerOf2_32(static_cast<std::uint32_t>(m.banks)));
    CHECK(!m.meaning.empty());
  }
}

TEST_CASE("the least and the most bytes of an asynchronous copy are the ends of its sizes") {
  for (const Machine &m : machine::allMachines()) {
    CAPTURE(std::string(m.name));
    const machine::AsyncCopies &copies = m.asyncCopies;
    const auto isSize = [&](std::int32_t bytes) {
      return (copies.sizes & static_cast<std::uint32_t>(bytes)) != 0;
    };
    CHECK((copies.leastBytes == 0) == (copies.sizes == 0));
    CHECK((copies.mostBytes == 0) == (copies.sizes == 0));
    for (std::int32_t bytes = 1; bytes <= 64; bytes *= 2) {
      if (isSize(bytes)) CHECK((copies.leastBytes <= bytes && bytes <= copies.mostBytes));
      if (bytes == copies.leastBytes || bytes == copies.mostBytes) CHECK(isSize(bytes));
    }
  }
  CHECK(machine::findMachine("sm_80")->asyncCopies.leastBytes == 4);
  CHECK(machine::findMachine("sm_80")->asyncCopies.mostBytes == 16);
}

TEST_CASE("the registers of a core are those of whole warps in whole partitions") {
  for (const Machine &m : machine::allMachines()) {
    CAPTURE(std::string(m.name));
    const std::int32_t perLane = m.registersPerCore / m.partitionsPerCore / m.warpSize;
    CHECK(perLane * m.warpSize * m.partitionsPerCore == m.registersPerCore);
    CHECK(perLane % m.registerGranule == 0);
    // A warp of the widest threads fits, and as many warps as there may be fit with few registers.
    CHECK(perLane >= m.maxRegistersPerThread);
    CHECK(perLane * m.partitionsPerCore >= m.maxWarpsPerCore * m.registerGranule);
  }
}

TEST_CASE("lanes and partitions are those of the family") {
  for (const Machine &m : machine::allMachines()) {
    CAPTURE(std::string(m.name));
    CHECK((m.family == Family::Nvptx) == m.name.starts_with("sm_"));
    CHECK((m.family == Family::Amdgpu) == m.name.starts_with("gfx"));
    CHECK(m.warpSize == (isOlderThanTen(m) ? 64 : 32));
    CHECK(m.features.starts_with("+ptx") == (m.family == Family::Nvptx));
  }
}
