#include "tests/support/sanitizers.h"
#include "tests/unit/emulate/faults.h"
#include "tests/unit/emulate/launching.h"
#include "tests/unit/emulate/vendor.h"

#include <algorithm>

using namespace imbrex;

namespace {

/// With the numbers that mistakes name besides.
Vendor withNumbers(Vendor vendor) {
  const int bytes = 4 * vendor.threads;
  vendor.words["4N"] = std::to_string(bytes);
  vendor.words["4N-3"] = std::to_string(bytes - 3);
  vendor.words["private"] = vendor.machine.starts_with("gfx") ? "5" : "0";
  return vendor;
}

/// A text with places for `{<name>}` and the vendor's words for others.
std::string filledIn(const std::string &pattern, const Vendor &vendor, const Emulation &emulation) {
  std::string text = inWordsOf(vendor, pattern);
  for (std::size_t at; (at = text.find("{<")) != std::string::npos;) {
    const std::size_t end = text.find(">}", at);
    text.replace(at, end + 2 - at, emulation.at(text.substr(at + 2, end - at - 2)));
  }
  return text;
}

void checkFault(const Vendor &vendor, const Fault &fault) {
  CAPTURE(vendor.machine);
  CAPTURE(fault.what);
  const auto size = static_cast<std::size_t>(vendor.threads);
  std::vector<std::int32_t> in(size), out(size), none(size);
  std::vector<std::uint8_t> unwritten(4 * size);
  Emulation emulation(vendor.machine, kernelText(vendor, fault.body));
  ir::Argument fresh{.data = reinterpret_cast<std::byte *>(none.data()),
                     .bytes = static_cast<std::int64_t>(unwritten.size()),
                     .unwritten = unwritten.data()};
  emulation.blocks(fault.blocks).array(in).array(out).argument({.bytes = 0}).argument(fresh);
  constexpr std::uint64_t kSeeds = testing::kHasAddressSanitizer ? 2 : 10;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CAPTURE(seed);
    emulation.delivery(seed % 2 == 0 ? emulate::Delivery::Late : emulate::Delivery::Random);
    std::ranges::fill(out, 0);
    std::ranges::fill(unwritten, std::uint8_t{1});
    const std::string report = emulation.report(seed);
    CAPTURE(report);
    for (const std::string &part : fault.expected) {
      const std::string expected = filledIn(part, vendor, emulation);
      CAPTURE(expected);
      CHECK(report.find(expected) != std::string::npos);
    }
  }
}

void checkFaults(const std::vector<Fault> &faults) {
  for (const Fault &fault : faults) {
    if (fault.nvidia) checkFault(withNumbers(nvidia()), fault);
    if (fault.amd) checkFault(withNumbers(amd()), fault);
  }
}

} // namespace

TEST_CASE("every mistake with shared memory is found under every seed, and its lines are named") {
  checkFaults(sharedMemoryFaults());
}

TEST_CASE("every mistake with global memory is found under every seed, and its lines are named") {
  checkFaults(globalMemoryFaults());
}

TEST_CASE("every mistake in meeting others is found under every seed, and its lines are named") {
  checkFaults(meetingFaults());
}

TEST_CASE("every mistake with copies is found under every seed, and its lines are named") {
  checkFaults(copyFaults());
  checkFaults(ldsFaults());
}

TEST_CASE("there are forty mistakes and more in the words of each vendor") {
  std::vector<Fault> all = sharedMemoryFaults();
  for (const auto &more : {globalMemoryFaults(), meetingFaults()})
    all.insert(all.end(), more.begin(), more.end());
  CHECK(std::ranges::count_if(all, &Fault::nvidia) >= 40);
  CHECK(std::ranges::count_if(all, &Fault::amd) >= 40);
}

TEST_CASE("what has no model is named before anything runs") {
  const auto reportOf = [](const Vendor &vendor, const std::string &line) {
    std::vector<std::int32_t> none;
    Emulation emulation(vendor.machine, kernelText(vendor, line + " ; <line>\n" + kEnd));
    emulation.array(none).array(none).array(none).array(none);
    const std::string report = emulation.report();
    CHECK(report.starts_with(emulation.at("line")));
    return report;
  };
  for (const Vendor &vendor : {nvidia(), amd()}) {
    CAPTURE(vendor.machine);
    CHECK(names(reportOf(vendor, "  %x = call i64 @llvm.readcyclecounter()"),
                {"no model of 'llvm.readcyclecounter', which kernel 'k' calls"}));
    CHECK(names(reportOf(vendor, "  call void asm sideeffect \"what\", \"\"()"),
                {"no model of the inline assembly 'what'"}));
  }
}
