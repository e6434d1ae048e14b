#pragma once

#include "app.hpp"
#include "backend/package/archive/assumed.h"
#include "dsl/traced_kernel.h"
#include "tests/package/aot/checks.h"
#include "tests/run/runtime/played_gpu.h"
#include <imbrex/imbrex.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

/// What tests of a library's launches share: a fake driver whose results the emulator makes of the
/// very code that the driver was handed (CMakeLists.txt compiles them once for each vendor).
namespace imbrex::aot_tests {

[[maybe_unused]] inline const int isSet = setenv(FAKE_VARIABLE, FAKE_DRIVER, 1);

inline constexpr stream_ref kGpu = FAKE_IS_CUDA ? stream_ref::cuda() : stream_ref::hip();

/// A fake driver of two devices, the first of which plays a kernel of the library.
struct Fake {
  explicit Fake(traced_kernel recorded)
      : Fake(std::move(recorded), [](const analysis::Assumptions &) { return true; }) {}
  /// Which is to run the code that assumes this, and no other.
  Fake(traced_kernel recorded, bool (*isWanted)(const analysis::Assumptions &))
      : kernel(std::move(recorded)), driver(testing::freshDriver(FAKE_DRIVER)),
        played(driver, irOf(kernel), machine(), wanted(irOf(kernel), isWanted)) {
    driver.isa = FAKE_ISA;
    driver.devices = 2;
    const auto play = driver.device;
    driver.device = [this, play](const fake::SeenLaunch &launch) {
      launches.push_back(launch);
      return play(launch);
    };
  }
  std::int64_t calls(const char *member) const { return std::ranges::count(driver.calls, member); }

  traced_kernel kernel;
  fake::State &driver;
  testing::PlayedGpu played;
  std::vector<fake::SeenLaunch> launches;

private:
  static const machine::Machine &machine() { return *machine::findMachine(FAKE_MACHINE); }
  static std::vector<analysis::Assumptions>
  wanted(const ir::Kernel &kernel, bool (*isWanted)(const analysis::Assumptions &)) {
    std::vector<analysis::Assumptions> assumed = archive::assumedOnGpu(kernel, machine());
    std::erase_if(assumed, [&](const analysis::Assumptions &one) { return !isWanted(one); });
    return assumed;
  }
};

} // namespace imbrex::aot_tests
