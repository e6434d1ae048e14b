#include "tests/run/runtime/fake_vendor.h"
#include "tests/run/runtime/played_gpu.h"

#include <doctest/doctest.h>

#include <cstdlib>

namespace imbrex {
namespace testing {

const FakeVendor kFake{.driver = FAKE_DRIVER,
                       .device = "hip",
                       .vendor = "AMD's HIP",
                       .isa = "gfx942:sramecc+:xnack-",
                       .foreign = "gfx906",
                       .missing = "hipGetDeviceCount"};

Result<std::unique_ptr<gpu::SupportedGpu>> openGpu(const std::vector<std::string> &paths,
                                                   std::int32_t number) {
  return gpu::openGpu(gpu::hip(), paths, number);
}

} // namespace testing

namespace {
[[maybe_unused]] const int isSet = setenv("IMBREX_HIP_DRIVER", FAKE_DRIVER, 1);
} // namespace

TEST_CASE("the driver's layer and the compiler know HIP's variable by one name") {
  CHECK(std::string(gpu::hip().vendor.variable) == "IMBREX_HIP_DRIVER");
  CHECK(gpu::hip().path == &Environment::hipDriver);
}

TEST_CASE("each device gets the code that it runs") {
  const auto codeOf = [](std::string_view device) {
    const auto code = gpu::suitableCode(device, gpu::hip(), 0);
    return code ? gpu::toText(*code) : code.error().message;
  };
  CHECK(codeOf("gfx942:sramecc+:xnack-") == "the image of gfx942");
  CHECK(codeOf("gfx90a:sramecc+:xnack-") == "the image of gfx90a");
  CHECK(codeOf("gfx1101") == "the image of gfx11-generic");
  CHECK(codeOf("gfx1201") == "the image of gfx1201");
  CHECK(codeOf("gfx906") == "'hip:0' is a gfx906, which this build has no code for");
}

TEST_CASE("where HIP refuses the image there is nothing else to hand over") {
  fake::State &driver = testing::freshDriver(testing::kFake.driver);
  driver.isa = testing::kFake.isa;
  const auto gpu = testing::openGpu({testing::kFake.driver}, 0);
  REQUIRE(gpu);
  CHECK_FALSE((*gpu)->takesAssembly());
  const auto loaded = (*gpu)->load("nonsense", "k");
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().message ==
        "hip:0 (Fake, gfx942:sramecc+:xnack-) refuses to load the code of 'k': error 200");
}

} // namespace imbrex
