#pragma once

#include "runtime/gpu/supported_gpu.h"

#include <cstddef>
#include <memory>
#include <string>

/// What the tests of launches through a driver need to know of the vendor whose driver is faked.
namespace imbrex::testing {

struct FakeVendor {
  const char *driver;  ///< The fake's path.
  const char *device;  ///< "cuda"
  const char *vendor;  ///< As errors name the driver.
  const char *isa;     ///< Of the device that the fake usually has.
  const char *foreign; ///< Of one that there is no code for.
  const char *missing; ///< The function that an old driver lacks.
};
extern const FakeVendor kFake;

/// Of the cases of a table, each so many-eth is asked: what the vendors' launches have in common
/// need not be asked twice.
inline constexpr std::size_t kStep = 3;

Result<std::unique_ptr<gpu::SupportedGpu>> openGpu(const std::vector<std::string> &paths,
                                                   std::int32_t number);

} // namespace imbrex::testing
