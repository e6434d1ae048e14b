#include "backend/compile.h"
#include "backend/package/package.h"
#include "runtime/gpu_executable.h"
#include "tests/run/runtime/fake_vendor.h"
#include "tests/run/runtime/image_arguments.h"
#include "tests/run/runtime/numbers_view.h"
#include "tests/run/runtime/played_gpu.h"
#include "tests/support/assembler.h"
#include "tests/support/parsed_kernel.h"

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

Result<std::unique_ptr<gpu::SupportedGpu>> openGpu(const std::vector<std::string> &paths,
                                                   std::int32_t number) {
  return gpu::openGpu(gpu::cuda(), paths, number);
}

} // namespace testing

namespace {

[[maybe_unused]] const int isSet = setenv("IMBREX_CUDA_DRIVER", FAKE_DRIVER, 1);

using testing::kFake;
using testing::viewOf;

ir::Kernel twice() {
  return testing::parsedKernel(R"(kernel @twice(%x: view<f32, 1>) stage tiles {
  %0 = program_id : i32
  %1 = view.load %x, %0 : f32[64]
  %2 = add %1, %1 : f32[64]
  view.store %x, %2, %0
})");
}

bool canMakeImages() {
  return testing::canAssemble(target::gpuTarget(*machine::findMachine("sm_90a")));
}

/// An image, or the assembly where no image can be made.
std::string codeMadeBefore(const ir::Kernel &kernel, std::string_view machine) {
  return canMakeImages() ? testing::imageOf(kernel, machine) : testing::assemblyOf(kernel, machine);
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

TEST_CASE("without an assembler the driver assembles" * doctest::test_suite("toolkit")) {
  fake::State &driver = testing::freshDriver(kFake.driver);
  CHECK(handedOver(driver) == (canMakeImages() ? "image" : "assembly"));
}

TEST_CASE("code that was made before is loaded for the launches that it was made for" *
          doctest::test_suite("toolkit")) {
  const ir::Kernel kernel = twice();
  const std::string package = codeMadeBefore(kernel, "sm_90a");
  const auto loadedFor = [&](std::size_t offset) {
    fake::State &driver = testing::freshDriver(kFake.driver);
    const auto gpu = testing::openGpu({kFake.driver}, 0);
    std::string image;
    driver.device = [&](const fake::SeenLaunch &launch) {
      image = launch.image;
      return 0;
    };
    Diagnostics diagnostics;
    const auto executable =
        runtime::makeGpuExecutable(kernel.clone(), **gpu, diagnostics, {.image = package});
    REQUIRE(executable);
    alignas(16) std::array<float, 80> x{};
    REQUIRE(executable->run({}, viewOf(x.data() + offset, 64), diagnostics));
    return image;
  };
  CHECK(loadedFor(0) == package);
  CHECK(loadedFor(1) != package); // its address is no multiple of 16
}

namespace {

/// Sums tiles of 16 KB, nine of them in flight where there is room for so many.
ir::Kernel sumOfTiles() {
  return testing::parsedKernel(
      R"(kernel @sum(%a: view<const f32, 2>, %b: view<f32, 2>, %n: i32) stage tiles {
  %zero = constant 0 : i32
  %one = constant 1 : i32
  %sum = constant 0.0 : f32[64x64]
  %r = for %zero, %n, %one, %sum [pipelined = 9] (%k: i32, %s: f32[64x64]) {
    %x = view.load %a, %zero, %k : f32[64x64]
    %t = add %s, %x : f32[64x64]
    yield %t
  } : f32[64x64]
  view.store %b, %r, %zero, %zero
})");
}

ir::Argument squareOf(std::vector<float> &data, std::int64_t columns) {
  ir::Argument argument;
  argument.data = reinterpret_cast<std::byte *>(data.data());
  argument.bytes = static_cast<std::int64_t>(data.size() * sizeof(float));
  argument.extents[0] = 64;
  argument.extents[1] = columns;
  argument.strides[0] = columns;
  argument.strides[1] = 1;
  return argument;
}

/// What a launch asks for of a machine's code.
std::int32_t bytesAtLaunch(const ir::Kernel &kernel, std::string_view machine) {
  ir::Kernel compiled = kernel.clone();
  Diagnostics diagnostics;
  const auto code = compileForGpu(compiled, target::gpuTarget(*machine::findMachine(machine)),
                                  analysis::usualAssumptions(kernel), diagnostics);
  REQUIRE(code);
  return code->interface.bytesAtLaunch;
}

} // namespace

TEST_CASE("a launch brings the shared memory that a block does not have without asking" *
          doctest::test_suite("toolkit")) {
  const ir::Kernel kernel = sumOfTiles();
  fake::State &driver = testing::freshDriver(kFake.driver);
  const auto gpu = testing::openGpu({kFake.driver}, 0);
  const testing::PlayedGpu played(driver, kernel, *(*gpu)->code().machine);
  Diagnostics diagnostics;
  const auto executable = runtime::makeGpuExecutable(kernel.clone(), **gpu, diagnostics);
  REQUIRE_MESSAGE(executable, diagnostics.render());
  constexpr std::int64_t kTiles = 7;
  std::vector<float> a(64 * 64 * kTiles, 1.0F), b(64 * 64);
  ir::Argument n;
  n.scalar = kTiles;
  CHECK(executable->run({}, {squareOf(a, 64 * kTiles), squareOf(b, 64), n}, diagnostics));
  CHECK(played.problem() == "");
  CHECK(b == std::vector<float>(64 * 64, kTiles));
  CHECK(bytesAtLaunch(kernel, "sm_90a") >= 9 * 16384);

  driver.failing = "setKernelFact";
  driver.error = 1;
  const auto refused =
      (*gpu)->load(codeMadeBefore(kernel, "sm_90a"), "sum", {.sharedBytes = 160'000});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == (*gpu)->description() +
                                       " refuses to give 'sum' 160000 bytes of shared memory: "
                                       "FAKE_INVALID_VALUE, invalid argument");
}

TEST_CASE("of code that was made before, the member that fits is launched as its machine wants it" *
          doctest::test_suite("toolkit")) {
  if (!canMakeImages()) return;
  const ir::Kernel kernel = sumOfTiles();
  const std::string of80 = testing::imageOf(kernel, "sm_80"),
                    of86 = testing::imageOf(kernel, "sm_86"),
                    assembly = testing::assemblyOf(kernel, "sm_80");
  using Members = std::vector<package::Member>;
  const Members both{{.machine = "sm_86", .content = of86}, {.machine = "sm_80", .content = of80}};
  const Members older{{.machine = "sm_80", .isAssembly = true, .content = assembly},
                      {.machine = "sm_80", .content = of80}};
  REQUIRE(bytesAtLaunch(kernel, "sm_80") > bytesAtLaunch(kernel, "sm_86"));
  const auto checkLaunch = [&](const std::string &isa, const std::string &package,
                               const std::string &member, std::string_view machine) {
    CAPTURE(isa);
    fake::State &driver = testing::freshDriver(kFake.driver);
    driver.isa = isa;
    const auto gpu = testing::openGpu({kFake.driver}, 0);
    REQUIRE(gpu);
    fake::SeenLaunch seen;
    driver.device = [&](const fake::SeenLaunch &launch) { return seen = launch, 0; };
    Diagnostics diagnostics;
    const auto executable =
        runtime::makeGpuExecutable(kernel.clone(), **gpu, diagnostics, {.image = package});
    REQUIRE_MESSAGE(executable, diagnostics.render());
    std::vector<float> a(64 * 64), b(64 * 64);
    ir::Argument n;
    REQUIRE(executable->run({}, {squareOf(a, 64), squareOf(b, 64), n}, diagnostics));
    CHECK(seen.image == member);
    CHECK(seen.sharedBytes == static_cast<unsigned>(bytesAtLaunch(kernel, machine)));
  };
  for (const bool isCompressed : {false, true}) {
    const std::string two = package::writePackage(machine::Family::Nvptx, both, isCompressed);
    const std::string one = package::writePackage(machine::Family::Nvptx, older, isCompressed);
    checkLaunch("sm_80", two, of80, "sm_80");
    checkLaunch("sm_86", two, of86, "sm_86");
    checkLaunch("sm_89", two, of86, "sm_86");
    checkLaunch("sm_86", one, of80, "sm_80");
    checkLaunch("sm_90", one, assembly, "sm_80");
  }
  checkLaunch("sm_86", of80, of80, "sm_80");
  checkLaunch("sm_120", assembly, assembly, "sm_80");
}

TEST_CASE("code that was made before for other devices alone is refused" *
          doctest::test_suite("toolkit")) {
  const ir::Kernel kernel = twice();
  testing::freshDriver(kFake.driver);
  const auto gpu = testing::openGpu({kFake.driver}, 0);
  const auto errorOf = [&](const std::string &package) {
    Diagnostics diagnostics;
    CHECK_FALSE(runtime::makeGpuExecutable(kernel.clone(), **gpu, diagnostics, {.image = package}));
    return diagnostics.render();
  };
  const std::string foreign = codeMadeBefore(kernel, "sm_120a");
  CHECK(errorOf(foreign) ==
        "imbrex: error: cuda:0 (Fake, sm_90) runs none of the code that it is to load\n"
        "  hint: that is for " +
            std::string(canMakeImages() ? "" : "assembly of ") + "sm_120a\n");
  CHECK(errorOf("nonsense") == "imbrex: error: this is no package that can be read: it is for a "
                               "machine that is not known, ''\n");
}

namespace {

/// Sums of three boxes, which an engine loads where it can.
ir::Kernel sums() {
  return testing::parsedKernel(
      R"(kernel @sums(%x: view<const f32, 2>, %y: view<f32, 2>) stage tiles {
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
})");
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

TEST_CASE("the driver's layer and the compiler know CUDA's variable by one name") {
  CHECK(std::string(gpu::cuda().vendor.variable) == "IMBREX_CUDA_DRIVER");
  CHECK(gpu::cuda().path == &Environment::cudaDriver);
}

TEST_CASE("each device gets the code that it runs") {
  const auto codeOf = [](std::string_view device) {
    const auto code = gpu::suitableCode(device, gpu::cuda(), 0);
    return code ? gpu::toText(*code) : code.error().message;
  };
  CHECK(codeOf("sm_75") == "the image of sm_75");
  CHECK(codeOf("sm_87") == "the assembly of sm_86");
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

TEST_CASE("a device whose context is refused can't be used") {
  fake::State &driver = testing::freshDriver(kFake.driver);
  driver.failing = "primaryContext";
  driver.error = 1;
  const auto gpu = testing::openGpu({kFake.driver}, 0);
  REQUIRE_FALSE(gpu);
  CHECK(gpu.error().message ==
        "cuda:0 (Fake, sm_90) refuses to be used: FAKE_INVALID_VALUE, invalid argument");
  CHECK(std::ranges::count(driver.calls, "releaseContext") == 0);
}

TEST_CASE("a context is given back with its GPU, and where there is no code for it") {
  for (const std::string isa : {kFake.isa, kFake.foreign}) {
    CAPTURE(isa);
    fake::State &driver = testing::freshDriver(kFake.driver);
    driver.isa = isa;
    CHECK(testing::openGpu({kFake.driver}, 0).ok() == (isa == kFake.isa));
    CHECK(std::ranges::count(driver.calls, "primaryContext") == 1);
    CHECK(std::ranges::count(driver.calls, "releaseContext") == 1);
  }
}

TEST_CASE("a context that is current already is left so, and another one comes back") {
  fake::State &driver = testing::freshDriver(kFake.driver);
  driver.isa = kFake.isa;
  driver.devices = 2;
  const auto first = testing::openGpu({kFake.driver}, 0);
  REQUIRE(first);
  for (const int current : {0, 1}) {
    driver.here().contexts = {current};
    driver.here().current = 1;
    driver.calls.clear();
    {
      const auto memory = (*first)->allocate(16);
      REQUIRE(memory);
      CHECK(driver.owners[memory->address()] == 0);
    }
    CHECK(std::ranges::count(driver.calls, "pushContext") == 2 * current);
    CHECK(driver.here().contexts == std::vector<int>{current});
  }
}

} // namespace imbrex
