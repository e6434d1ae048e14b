#include "backend/ir/text.h"
#include "runtime/cuda/cuda.h"
#include "runtime/gpu_executable.h"
#include "tests/run/runtime/fake_vendor.h"
#include "tests/run/runtime/image_arguments.h"
#include "tests/run/runtime/played_gpu.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>

/// What only NVIDIA's driver does: it assembles.
namespace imbrex {
namespace testing {

const FakeVendor kFake{.driver = FAKE_DRIVER,
                       .device = "cuda",
                       .vendor = "NVIDIA's driver",
                       .isa = "sm_90",
                       .foreign = "sm_52",
                       .missing = "cuDeviceGetCount"};

Result<std::unique_ptr<gpu::Gpu>> openGpu(const std::vector<std::string> &paths,
                                          std::int32_t number) {
  return cuda::openGpu(paths, number);
}

} // namespace testing

namespace {

[[maybe_unused]] const int isSet = setenv("IMBREX_DRIVER", FAKE_DRIVER, 1);

using testing::kFake;

ir::Kernel twice() {
  Diagnostics diagnostics;
  auto kernel = ir::parse(R"(kernel @twice(%x: view<f32, 1>) stage tiles {
  %0 = program_id : i32
  %1 = view.load %x, %0 : f32[64]
  %2 = add %1, %1 : f32[64]
  view.store %x, %2, %0
})",
                          "k.imx", diagnostics);
  REQUIRE(kernel);
  return std::move(*kernel);
}

ir::Argument viewOf(float *data, std::int64_t count) {
  ir::Argument argument;
  argument.data = reinterpret_cast<std::byte *>(data);
  argument.bytes = count * static_cast<std::int64_t>(sizeof(float));
  argument.extents[0] = count;
  argument.strides[0] = 1;
  return argument;
}

/// What the driver is handed for a kernel that doubles 64 numbers: "image" or "assembly". It runs,
/// too.
std::string handedOver(fake::State &driver) {
  Diagnostics diagnostics;
  const ir::Kernel kernel = twice();
  const auto gpu = testing::openGpu({kFake.driver}, 0);
  REQUIRE(gpu);
  const testing::PlayedGpu played(driver, kernel, *(*gpu)->code().machine);
  std::string kind;
  const auto play = driver.device;
  driver.device = [&](const fake::SeenLaunch &launch) {
    kind = launch.image.starts_with("\177ELF") ? "image" : "assembly";
    return play(launch);
  };
  const auto executable = runtime::makeGpuExecutable(kernel.clone(), **gpu, diagnostics);
  REQUIRE_MESSAGE(executable, diagnostics.render());
  std::vector<float> x(64, 21);
  CHECK(executable->run({}, viewOf(x.data(), 64), diagnostics));
  CHECK(played.problem() == "");
  CHECK(x == std::vector<float>(64, 42));
  return kind;
}

} // namespace

TEST_CASE("a driver that is too old for the image is handed the assembly") {
  fake::State &driver = testing::freshDriver(kFake.driver);
  driver.takesImages = false;
  CHECK(handedOver(driver) == "assembly");
}

TEST_CASE("a device that no image is made for gets the assembly of an older one") {
  fake::State &driver = testing::freshDriver(kFake.driver);
  driver.isa = "sm_110";
  CHECK(handedOver(driver) == "assembly");
}

// Run once more with a toolkit that is nowhere (CMakeLists.txt).
TEST_CASE("without an assembler the driver assembles") {
  fake::State &driver = testing::freshDriver(kFake.driver);
  const char *toolkit = std::getenv("IMBREX_TOOLKIT");
  CHECK(handedOver(driver) == (toolkit != nullptr ? "assembly" : "image"));
}

TEST_CASE("code that was made before is loaded for the launches that it was made for") {
  const ir::Kernel kernel = twice();
  const std::string package = testing::imageOf(kernel, "sm_90a");
  const auto loadedFor = [&](std::size_t offset) {
    fake::State &driver = testing::freshDriver(kFake.driver);
    const auto gpu = testing::openGpu({kFake.driver}, 0);
    std::string image;
    driver.device = [&](const fake::SeenLaunch &launch) {
      image = launch.image;
      return 0;
    };
    Diagnostics diagnostics;
    const auto executable = runtime::makeGpuExecutable(kernel.clone(), **gpu, diagnostics, package);
    REQUIRE(executable);
    alignas(16) std::array<float, 80> x{};
    REQUIRE(executable->run({}, viewOf(x.data() + offset, 64), diagnostics));
    return image;
  };
  CHECK(loadedFor(0) == package);
  CHECK(loadedFor(1) != package); // its address is no multiple of 16
}

namespace {

/// Sums of three boxes, which an engine loads where it can.
ir::Kernel sums() {
  Diagnostics diagnostics;
  auto kernel = ir::parse(R"(kernel @sums(%x: view<const f32, 2>, %y: view<f32, 2>) stage tiles {
  %0 = constant 0 : i32
  %1 = constant 1 : i32
  %3 = constant 3 : i32
  %z = constant 0.0 : f32[8x32]
  %s = for %0, %3, %1, %z [pipelined = 2] (%k: i32, %a: f32[8x32]) {
    %b = view.load %x, %0, %k : f32[8x32]
    %c = add %a, %b : f32[8x32]
    yield %c
  } : f32[8x32]
  view.store %y, %s, %0, %0
})",
                          "sums.imx", diagnostics);
  REQUIRE_MESSAGE(kernel, diagnostics.render());
  return std::move(*kernel);
}

struct SumsRun {
  std::string error;    ///< The first, or none.
  bool describes;       ///< The driver was asked to describe a view.
  std::vector<float> y; ///< 8 x 32
};

/// With rows of so many columns, each number 1.
SumsRun runSums(const char *library, std::int64_t columns,
                const std::function<void(fake::State &)> &prepare) {
  fake::State &driver = testing::freshDriver(library);
  prepare(driver);
  const ir::Kernel kernel = sums();
  const auto gpu = testing::openGpu({library}, 0);
  REQUIRE(gpu);
  const testing::PlayedGpu played(driver, kernel, *(*gpu)->code().machine);
  Diagnostics diagnostics;
  const auto executable = runtime::makeGpuExecutable(kernel.clone(), **gpu, diagnostics);
  REQUIRE_MESSAGE(executable, diagnostics.render());
  std::vector<float> x(static_cast<std::size_t>(8 * columns), 1), y(8 * 32, -1);
  const auto viewOfRows = [](std::vector<float> &of, std::int64_t width) {
    ir::Argument argument = viewOf(of.data(), std::ssize(of));
    argument.extents = {8, width};
    argument.strides = {width, 1};
    return argument;
  };
  executable->run({}, {viewOfRows(x, columns), viewOfRows(y, 32)}, diagnostics);
  CHECK(played.problem() == "");
  const bool describes = std::ranges::count(driver.calls, "describeTensor") > 0;
  return {diagnostics.all().empty() ? "" : diagnostics.all()[0].message, describes, y};
}

} // namespace

TEST_CASE("the driver describes views to the engine, where it is new enough and takes them") {
  const auto nothing = [](fake::State &) {};
  const SumsRun plain = runSums(kFake.driver, 96, nothing);
  CHECK(plain.error == "");
  CHECK(plain.describes);
  CHECK(plain.y == std::vector<float>(8 * 32, 3));

  const SumsRun ragged = runSums(kFake.driver, 95, nothing); // rows of 380 bytes
  CHECK(ragged.error == "");
  CHECK_FALSE(ragged.describes);
  CHECK(std::ranges::count(ragged.y, 3.0F) == 8 * 31);

  const SumsRun old =
      runSums(FAKE_BOXLESS, 96, [](fake::State &driver) { driver.knowsBoxes = false; });
  CHECK(old.error == "");
  CHECK_FALSE(old.describes);
  CHECK(old.y == plain.y);

  const SumsRun refused = runSums(kFake.driver, 96, [](fake::State &driver) {
    driver.failing = "describeTensor";
    driver.error = 1;
  });
  CHECK(refused.error == "cuda:0 (Fake, sm_90) refuses to load boxes of argument 'x' of kernel "
                         "'sums': FAKE_INVALID_VALUE, invalid argument");
}

TEST_CASE("what the driver's assembler says of bad assembly is told") {
  testing::freshDriver(kFake.driver);
  const auto gpu = testing::openGpu({kFake.driver}, 0);
  const auto loaded = (*gpu)->load("nonsense", "k");
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().message ==
        "cuda:0 (Fake, sm_90) refuses to load the code of 'k' (the log of the fake): error 200");
}

TEST_CASE("each device gets the code that it runs") {
  const auto codeOf = [](std::string_view device) {
    const gpu::Ordinal ordinal{.vendor = &cuda::vendor(), .number = 0};
    const auto code = gpu::suitableCode(device, ordinal);
    return code ? gpu::toText(*code) : code.error().message;
  };
  CHECK(codeOf("sm_75") == "the image of sm_75");
  CHECK(codeOf("sm_87") == "the image of sm_86");
  CHECK(codeOf("sm_90") == "the image of sm_90a");
  CHECK(codeOf("sm_100") == "the image of sm_100a");
  CHECK(codeOf("sm_110") == "the assembly of sm_89");
  CHECK(codeOf("sm_121") == "the image of sm_121a");
  CHECK(codeOf("sm_70") == "'cuda:0' is a sm_70, which this build has no code for");
}

TEST_CASE("the places of a kernel's arguments are read from PTX as from a cubin") {
  const std::string ptx = ".visible .entry k(\n\t.param .u64 .ptr .global .align 1 k_param_0,\n"
                          "\t.param .u8 k_param_1,\n\t.param .b16 k_param_2,\n"
                          "\t.param .f32 k_param_3,\n\t.param .u64 k_param_4\n)\n";
  using Places = std::vector<testing::ArgumentPlace>;
  CHECK(testing::argumentsInImage(ptx, "k") == Places{{0, 8}, {8, 1}, {10, 2}, {12, 4}, {16, 8}});
}

} // namespace imbrex
