#pragma once

#include "dsl/traced_kernel.h"
#include "runtime/devices.h"
#include "runtime/gpus.h"
#include "tests/run/runtime/fake_vendor.h"
#include "tests/run/runtime/played_gpu.h"
#include <imbrex/imbrex.hpp>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

/// What the tests of launches through the public functions have of a fake driver.
namespace imbrex::testing {

/// A fake driver that has just been opened, and plays a kernel.
struct OpenedFake {
  explicit OpenedFake(traced_kernel recorded)
      : kernel(std::move(recorded)), driver(freshDriver(kFake.driver)), on(open()),
        played(driver, irOf(kernel), *(*runtime::gpuOf(runtime::infoOf(on)))->code().machine) {
    const auto play = driver.device;
    driver.device = [this, play](const fake::SeenLaunch &launch) {
      streams.push_back(launch.stream);
      return play(launch);
    };
    driver.calls.clear();
  }
  std::int64_t calls(const char *member) const { return std::ranges::count(driver.calls, member); }

  traced_kernel kernel;
  fake::State &driver;
  device on;
  PlayedGpu played;
  std::vector<void *> streams; ///< Of the launches.

private:
  device open() const {
    driver.isa = kFake.isa;
    driver.devices = 2;
    return device::by_name(kFake.device);
  }
};

inline std::vector<float> upTo64() {
  std::vector<float> made(64);
  std::iota(made.begin(), made.end(), 1.0f);
  return made;
}

inline std::vector<float> contentOf(const device_buffer<f32> &array) {
  std::vector<float> content(array.size());
  array.copy_to(content);
  return content;
}

} // namespace imbrex::testing
