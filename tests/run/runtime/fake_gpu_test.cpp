#include "backend/interpret/interpret.h"
#include "runtime/devices.h"
#include "runtime/gpu/staged_arrays.h"
#include "runtime/gpu_executable.h"
#include "runtime/gpus.h"
#include "tests/run/runtime/fake_vendor.h"
#include "tests/run/runtime/numbers_view.h"
#include "tests/run/runtime/played_gpu.h"
#include "tests/support/captured_output.h"
#include "tests/support/parsed_kernel.h"
#include "tests/support/random_kernel.h"
#include "tests/support/semantics.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

/// Launches through a vendor's driver, from the argument list to the results, with a fake driver in
/// the place of the real one (CMakeLists.txt compiles this once for each vendor).
namespace imbrex {
namespace {

using testing::kFake;
using testing::parsedKernel;
using testing::viewOf;

std::unique_ptr<gpu::SupportedGpu> openFake() {
  auto gpu = testing::openGpu({kFake.driver}, 0);
  REQUIRE_MESSAGE(gpu, gpu.error().message);
  return std::move(*gpu);
}

fake::State &fakeDriver() {
  fake::State &state = testing::freshDriver(kFake.driver);
  state.isa = kFake.isa;
  return state;
}

/// Run a kernel on a GPU that is played; the first error, or none. No memory may be left over.
std::string runPlayed(const ir::Kernel &kernel, const ir::Grid &grid,
                      llvm::ArrayRef<ir::Argument> arguments, Diagnostics &diagnostics) {
  fake::State &driver = fakeDriver();
  const auto gpu = openFake();
  const testing::PlayedGpu played(driver, kernel, *gpu->code().machine);
  const auto executable = runtime::makeGpuExecutable(kernel.clone(), *gpu, diagnostics);
  if (executable != nullptr) executable->run(grid, arguments, diagnostics);
  CHECK(played.problem() == "");
  CHECK(driver.memory.empty());
  return diagnostics.all().empty() ? "" : diagnostics.all()[0].message;
}

ir::Kernel scale() {
  return parsedKernel(
      R"(kernel @scale(%x: view<const f32, 1>, %factor: f32, %y: view<f32, 1>) stage tiles {
  %0 = program_id : i32
  %1 = view.load %x, %0 : f32[64]
  %2 = broadcast %factor : f32[64]
  %3 = mul %1, %2 : f32[64]
  view.store %y, %3, %0
})");
}

ir::Argument scalarOf(float number) {
  ir::Argument argument;
  argument.scalar = std::bit_cast<std::uint32_t>(number);
  return argument;
}

std::vector<float> numbers(std::size_t count) {
  std::vector<float> made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = static_cast<float>(i + 1);
  return made;
}

} // namespace

TEST_CASE("launches through the driver give what the semantics page says" *
          doctest::test_suite("toolkit")) {
  for (const auto &table : {semantics::memoryCases(), semantics::controlCases(),
                            semantics::shapeCases(), semantics::variableCases()})
    for (std::size_t i = 0; i < table.size(); i += testing::kStep) {
      CAPTURE(table[i].name);
      CHECK(semantics::runCase(table[i], [](const ir::Kernel &kernel, const ir::Grid &grid,
                                            llvm::ArrayRef<ir::Argument> arguments,
                                            Diagnostics &diagnostics) {
              return runPlayed(kernel, grid, arguments, diagnostics).empty();
            }) == "");
    }
}

TEST_CASE("launches through the driver and the interpreter leave the same bits" *
          doctest::test_suite("toolkit")) {
  constexpr std::uint32_t kSeeds = 12;
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    CAPTURE(seed);
    const testing::RandomKernel random = testing::randomKernel(seed, {.size = 8});
    testing::RandomLaunch launched(random), interpreted(random);
    Diagnostics diagnostics;
    REQUIRE(interpret::run(random.kernel, random.grid, interpreted.arguments(), diagnostics));
    REQUIRE(runPlayed(random.kernel, random.grid, launched.arguments(), diagnostics) == "");
    REQUIRE(testing::difference(random, launched, interpreted) == "");
  }
}

TEST_CASE("scalars of every size reach the kernel" * doctest::test_suite("toolkit")) {
  const std::vector<std::string> elements{"i8",  "f64", "bool", "i16",  "u8",     "i64",
                                          "f16", "u8",  "f32",  "bf16", "f8e5m2", "u32"};
  std::string parameters, stores;
  std::vector<std::uint64_t> memory(elements.size());
  std::vector<ir::Argument> arguments;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::string number = std::to_string(i);
    const std::string &element = elements[i];
    parameters.append(i == 0 ? "%x" : ", %x").append(number).append(": ").append(element);
    parameters.append(", %p").append(number).append(": ptr<").append(element).append(">");
    stores.append("  store %p").append(number).append(", %x").append(number).append("\n");
    ir::Argument scalar, pointer;
    scalar.scalar = element == "bool" ? 1 : 0x1122334455667788 >> (64 - 8 * (1 << (i % 4)));
    pointer.data = reinterpret_cast<std::byte *>(&memory[i]);
    pointer.bytes = sizeof memory[i];
    arguments.insert(arguments.end(), {scalar, pointer});
  }
  const ir::Kernel kernel =
      parsedKernel("kernel @all(" + parameters + ") stage tiles {\n" + stores + "}\n");
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::int32_t bits =
        ir::storageBits(kernel.type(kernel.body().arguments[2 * i]).element());
    if (elements[i] != "bool") arguments[2 * i].scalar = 0x1122334455667788 >> (64 - bits);
  }
  Diagnostics diagnostics;
  CHECK(runPlayed(kernel, {}, arguments, diagnostics) == "");
  for (std::size_t i = 0; i < elements.size(); ++i) {
    CAPTURE(elements[i]);
    CHECK(memory[i] == arguments[2 * i].scalar);
  }
}

TEST_CASE("prints and failed asserts come back from the device" * doctest::test_suite("toolkit")) {
  const ir::Kernel kernel = parsedKernel(R"(kernel @told(%x: view<const i32, 1>) stage tiles {
  %0 = program_id : i32
  %1 = view.load %x, %0 : i32[4]
  print %1 [text = "seen"]
  %2 = constant 6 : i32[4]
  %3 = lt %1, %2 : bool[4]
  assert %3 [text = "below six"]
})");
  std::vector<std::int32_t> x{0, 1, 2, 3, 4, 5, 1, 7};
  ir::Argument argument;
  argument.data = reinterpret_cast<std::byte *>(x.data());
  argument.bytes = static_cast<std::int64_t>(x.size() * sizeof x[0]);
  argument.extents[0] = static_cast<std::int64_t>(x.size());
  argument.strides[0] = 1;
  Diagnostics diagnostics;
  testing::CapturedOutput captured;
  const std::string error = runPlayed(kernel, {.extents = {2, 1, 1}}, argument, diagnostics);
  CHECK(captured.finish() == "[pid 0,0,0] seen: [0, 1, 2, 3]\n[pid 1,0,0] seen: [4, 5, 1, 7]\n");
  CHECK(error == "assertion failed at tile index [3] of block [1, 0, 0]: below six");
}

// --- arrays that meet ---

TEST_CASE("arguments that overlap on the host overlap on the device") {
  // y is x, four elements on: with one block, each element is read before it is written.
  std::vector<float> memory = numbers(68);
  const std::vector<float> before = memory;
  const std::vector<ir::Argument> arguments{viewOf(memory.data(), 64), scalarOf(2),
                                            viewOf(memory.data() + 4, 64)};
  Diagnostics diagnostics;
  REQUIRE(runPlayed(scale(), {}, arguments, diagnostics) == "");
  for (std::size_t i = 0; i < 4; ++i) CHECK(memory[i] == before[i]);
  for (std::size_t i = 0; i < 64; ++i) CHECK(memory[i + 4] == 2 * before[i]);
}

TEST_CASE("what overlaps becomes one region, and what only adjoins does not") {
  const ir::Kernel kernel = scale();
  std::vector<float> memory(100);
  const auto regions = [&](std::int64_t x, std::int64_t y, std::int64_t count) {
    return gpu::regionsOf(
        kernel, {viewOf(memory.data() + x, count), scalarOf(2), viewOf(memory.data() + y, count)},
        [](const ir::Argument &) { return true; });
  };
  auto *const begin = reinterpret_cast<std::byte *>(memory.data());
  const auto region = [&](std::int64_t from, std::int64_t to, bool isWritten) {
    return gpu::HostRegion{begin + 4 * from, 4 * (to - from), isWritten};
  };
  using Regions = std::vector<gpu::HostRegion>;
  CHECK(regions(0, 50, 50) == Regions{region(0, 50, false), region(50, 100, true)});
  CHECK(regions(50, 0, 50) == Regions{region(0, 50, true), region(50, 100, false)});
  CHECK(regions(0, 49, 50) == Regions{region(0, 99, true)});
  CHECK(regions(10, 10, 20) == Regions{region(10, 30, true)});
}

TEST_CASE("addresses keep their alignment, whatever they overlap with") {
  // The first byte of the one is odd; the other's elements must not become so.
  const ir::Kernel kernel =
      parsedKernel(R"(kernel @both(%x: ptr<const u8>, %y: ptr<f32>) stage tiles {
  %0 = load %x : u8
  %1 = cast %0 : f32
  store %y, %1
})");
  alignas(16) std::array<std::byte, 32> memory{};
  memory[3] = std::byte{7};
  ir::Argument x, y;
  x.data = memory.data() + 3;
  x.bytes = 20;
  y.data = memory.data() + 8;
  y.bytes = 4;
  Diagnostics diagnostics;
  REQUIRE(runPlayed(kernel, {}, {x, y}, diagnostics) == "");
  float got = 0;
  std::memcpy(&got, memory.data() + 8, sizeof got);
  CHECK(got == 7);
}

TEST_CASE("what lies between the elements of a view is left to others") {
  std::vector<float> x = numbers(64), y(128);
  const std::vector<ir::Argument> arguments{viewOf(x.data(), 64), scalarOf(3),
                                            viewOf(y.data(), 64, 2)};
  const ir::Kernel kernel = scale();
  fake::State &driver = fakeDriver();
  const auto gpu = openFake();
  testing::PlayedGpu played(driver, kernel, *gpu->code().machine);
  // While the kernel runs, another thread writes between the elements.
  const auto play = driver.device;
  driver.device = [&](const fake::SeenLaunch &launch) {
    for (std::size_t i = 1; i < y.size(); i += 2) y[i] = 5;
    return play(launch);
  };
  Diagnostics diagnostics;
  const auto executable = runtime::makeGpuExecutable(kernel.clone(), *gpu, diagnostics);
  REQUIRE(executable);
  REQUIRE(executable->run({}, arguments, diagnostics));
  for (std::size_t i = 0; i < y.size(); ++i) {
    CAPTURE(i);
    CHECK(y[i] == (i % 2 == 0 ? 3 * x[i / 2] : 5));
  }
}

TEST_CASE("the device's own memory is used where it is, and a kernel can be timed") {
  const ir::Kernel kernel = scale();
  fake::State &driver = fakeDriver();
  const auto gpu = openFake();
  const testing::PlayedGpu played(driver, kernel, *gpu->code().machine);
  Diagnostics diagnostics;
  const auto executable = runtime::makeGpuExecutable(kernel.clone(), *gpu, diagnostics);
  REQUIRE(executable);
  const std::vector<float> x = numbers(64);
  constexpr std::int64_t kBytes = 256;
  const auto from = gpu->allocate(kBytes), to = gpu->allocate(kBytes);
  REQUIRE(gpu->copyIn(from->address(), x.data(), kBytes));
  driver.calls.clear();
  const std::vector<ir::Argument> arguments{viewOf(reinterpret_cast<float *>(from->address()), 64),
                                            scalarOf(3),
                                            viewOf(reinterpret_cast<float *>(to->address()), 64)};
  runtime::DeviceTime time{.launches = 5};
  REQUIRE(executable->run({}, arguments, diagnostics, {.time = &time}));
  CHECK(std::ranges::count(driver.calls, "launch") == 5);
  CHECK(time.milliseconds == 1); // of the fake's clock
  CHECK(std::ranges::count(driver.calls, "copyIn") == 0);
  CHECK(std::ranges::count(driver.calls, "copyOut") == 0);
  std::vector<float> y(64);
  REQUIRE(gpu->copyOut(y.data(), to->address(), kBytes));
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == 3 * x[i]);
  const auto copying = gpu->timeCopy(to->address(), from->address(), kBytes, 3);
  REQUIRE(copying);
  CHECK(*copying == 1);
  REQUIRE(gpu->copyOut(y.data(), to->address(), kBytes));
  CHECK(y == x);
}

TEST_CASE("a bare pointer to the host's memory is an error, unless another argument has it") {
  const ir::Kernel kernel =
      parsedKernel(R"(kernel @copy(%x: ptr<const f32>, %y: ptr<f32>) stage tiles {
  %0 = load %x : f32
  store %y, %0
})");
  std::array<float, 2> memory{1, 2};
  ir::Argument x, y;
  x.data = reinterpret_cast<std::byte *>(&memory[0]);
  y.data = reinterpret_cast<std::byte *>(&memory[1]);
  x.bytes = 8;
  Diagnostics known, unknown;
  CHECK(runPlayed(kernel, {}, {x, y}, known) == "");
  CHECK(memory[1] == 1);
  x.bytes = 4;
  CHECK(runPlayed(kernel, {}, {x, y}, unknown) ==
        "the argument 'y' is a bare pointer to the host's memory, of which nobody knows how much "
        "to copy to " +
            openFake()->description());
}

namespace {

/// y[g] = 2 x[g], four numbers for each group.
ir::Kernel doubleGroups() {
  return parsedKernel(R"(kernel @groups(%x: table<const f32>, %y: table<f32>) stage tiles {
  %0 = program_id : i32
  %1 = table.pointer %x, %0 : ptr<const f32>
  %2 = table.pointer %y, %0 : ptr<f32>
  %3 = arange : i32[4]
  %4 = broadcast %1 : ptr<const f32>[4]
  %5 = ptr.add %4, %3 : ptr<const f32>[4]
  %6 = broadcast %2 : ptr<f32>[4]
  %7 = ptr.add %6, %3 : ptr<f32>[4]
  %8 = load %5 : f32[4]
  %9 = add %8, %8 : f32[4]
  store %7, %9
})");
}

ir::Argument partOf(std::vector<float> &memory, std::size_t first) {
  return {.data = reinterpret_cast<std::byte *>(memory.data() + first), .bytes = 16};
}

} // namespace

TEST_CASE("a table is made again of the device's addresses, and what is written through it comes "
          "back") {
  std::vector<float> x = numbers(12), y(12, -1);
  const ir::PointerTable from({partOf(x, 8), partOf(x, 0), partOf(x, 8)}),
      to({partOf(y, 4), partOf(y, 8), partOf(y, 0)});
  Diagnostics diagnostics;
  const ir::Grid grid{.extents = {3, 1, 1}};
  REQUIRE(runPlayed(doubleGroups(), grid, {from.argument(), to.argument()}, diagnostics) == "");
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(y[i] == 2 * x[i + 8]);
    CHECK(y[i + 4] == 2 * x[i + 8]);
    CHECK(y[i + 8] == 2 * x[i]);
  }
  CHECK(x == numbers(12));
}

TEST_CASE("arrays of two tables that overlap on the host overlap on the device") {
  std::vector<float> memory = numbers(8);
  const ir::PointerTable from({partOf(memory, 0)}), to({partOf(memory, 3)});
  Diagnostics diagnostics;
  REQUIRE(runPlayed(doubleGroups(), {}, {from.argument(), to.argument()}, diagnostics) == "");
  CHECK(memory == std::vector<float>{1, 2, 3, 2, 4, 6, 8, 8});
}

TEST_CASE("a pointer of a table to the device's own memory is used where it is") {
  const ir::Kernel kernel = doubleGroups();
  fake::State &driver = fakeDriver();
  const auto gpu = openFake();
  const testing::PlayedGpu played(driver, kernel, *gpu->code().machine);
  Diagnostics diagnostics;
  const auto executable = runtime::makeGpuExecutable(kernel.clone(), *gpu, diagnostics);
  REQUIRE(executable);
  std::vector<float> x = numbers(4), y(4);
  const auto own = gpu->allocate(16);
  ir::Argument there;
  there.data = reinterpret_cast<std::byte *>(own->address()); // of no known size
  const ir::PointerTable from({partOf(x, 0), there}), to({there, partOf(y, 0)});
  const std::vector<ir::Argument> arguments{from.argument(), to.argument()};
  REQUIRE(executable->run({}, arguments, diagnostics)); // the first group alone: into the device's
  CHECK(played.problem() == "");
  REQUIRE(gpu->copyOut(y.data(), own->address(), 16));
  CHECK(y == std::vector<float>{2, 4, 6, 8});
}

TEST_CASE("a bare pointer to the host's memory in a table is an error with its number") {
  std::vector<float> x = numbers(4), y(4);
  ir::Argument bare = partOf(x, 0);
  bare.bytes = ir::Argument::kUnknownSize;
  const ir::PointerTable from({partOf(y, 0), bare}), to({partOf(y, 0), partOf(y, 0)});
  Diagnostics diagnostics;
  CHECK(runPlayed(doubleGroups(), {}, {from.argument(), to.argument()}, diagnostics)
            .starts_with("the argument 'x[1]' is a bare pointer to the host's memory"));
}

// --- what can go wrong ---

TEST_CASE("whatever the driver refuses is an error that says what and why, and nothing is lost") {
  const ir::Kernel kernel = scale();
  std::vector<float> x = numbers(64), y(64);
  const std::vector<ir::Argument> arguments{viewOf(x.data(), 64), scalarOf(3),
                                            viewOf(y.data(), 64)};
  const auto errorWhere = [&](const char *failing) {
    fake::State &driver = fakeDriver();
    const auto gpu = openFake();
    const testing::PlayedGpu played(driver, kernel, *gpu->code().machine);
    driver.failing = failing;
    driver.error = 1;
    const std::set<void *> before = driver.modules; // which other tests' launchers hold
    Diagnostics diagnostics;
    {
      const auto executable = runtime::makeGpuExecutable(kernel.clone(), *gpu, diagnostics);
      if (executable) CHECK_FALSE(executable->run({}, arguments, diagnostics));
    }
    CHECK(y == std::vector<float>(64)); // nothing came back
    CHECK(driver.memory.empty());
    CHECK(driver.modules == before);
    CHECK(driver.here().current == 0);
    REQUIRE(diagnostics.all().size() == 1);
    const std::string &text = diagnostics.all()[0].message;
    const std::size_t at = text.find(gpu->description());
    REQUIRE(at != std::string::npos);
    return text.substr(0, at) + "GPU" + text.substr(at + gpu->description().size());
  };
  const std::string why = ": FAKE_INVALID_VALUE, invalid argument";
  // The array at the lower address is copied first.
  const auto first = reinterpret_cast<std::uintptr_t>(std::min(x.data(), y.data()));
  const std::uint64_t bytes = 256 + first % driver::kMemoryAlignment;
  CHECK(errorWhere("allocate") ==
        "GPU refuses to allocate " + std::to_string(bytes) + " bytes" + why);
  CHECK(errorWhere("copyIn") == "GPU refuses to take 256 bytes" + why);
  CHECK(errorWhere("launch") == "GPU refuses to launch kernel 'scale' with 1 x 1 x 1 blocks of " +
                                    std::to_string(openFake()->code().machine->warpSize) +
                                    " threads" + why);
  CHECK(errorWhere("synchronise") == "kernel 'scale' broke down on GPU" + why);
  CHECK(errorWhere("copyOut") == "GPU refuses to give back 256 bytes" + why);
}

TEST_CASE("a module without the kernel is an error, and unloaded") {
  fake::State &driver = fakeDriver();
  const auto gpu = openFake();
  const std::set<void *> before = driver.modules;
  constexpr std::size_t kBytes = 128;
  std::string image("\177ELF");
  image.resize(kBytes);
  const auto loaded = gpu->load(image, "k");
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().message ==
        gpu->description() + " refuses to find 'k' in its code: error 500");
  CHECK(driver.modules == before);
}

TEST_CASE("an error that the driver has no words for is told by its number") {
  fake::State &driver = fakeDriver();
  const auto gpu = openFake();
  driver.failing = "allocate";
  driver.error = 4711;
  const auto refused = gpu->allocate(16);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message ==
        gpu->description() + " refuses to allocate 16 bytes: error 4711");
}

TEST_CASE("a device that is not there is an error that says what was looked for") {
  fake::State &driver = fakeDriver();
  const std::string device = kFake.device, vendor = kFake.vendor;
  const auto errorOf = [&](const std::string &path, std::int32_t number) {
    const auto gpu = testing::openGpu({path}, number);
    REQUIRE_FALSE(gpu);
    return gpu.error().message;
  };
  CHECK(errorOf("/nowhere/driver.so", 0) == "there is no device '" + device + ":0', for " + vendor +
                                                " is not found: /nowhere/driver.so");
  CHECK(errorOf(FAKE_OLD, 0) == "there is no device '" + device + ":0', for " + vendor + " '" +
                                    FAKE_OLD + "' lacks the function " + kFake.missing);
  CHECK(errorOf(kFake.driver, 1) ==
        "there is no device '" + device + ":1', for " + vendor + " finds 1 device");
  driver.devices = 2;
  CHECK(errorOf(kFake.driver, 2) ==
        "there is no device '" + device + ":2', for " + vendor + " finds 2 devices");
  driver.failing = "init";
  driver.error = 1;
  CHECK(errorOf(kFake.driver, 0) == "there is no device '" + device + ":0', for " + vendor +
                                        " finds nothing (FAKE_INVALID_VALUE, invalid argument)");
  driver.isa = kFake.foreign;
  CHECK(errorOf(kFake.driver, 0)
            .starts_with("'" + device + ":0' is a " + kFake.foreign +
                         ", which this build has no code for"));
}

TEST_CASE("the device is the current one while it is used, and only then") {
  fake::State &driver = fakeDriver();
  driver.devices = 2;
  const auto second = testing::openGpu({kFake.driver}, 1);
  REQUIRE(second);
  CHECK((*second)->description() == kFake.device + std::string(":1 (Fake, ") + kFake.isa + ")");
  REQUIRE((*second)->allocate(16));
  CHECK(driver.mostCurrent == 1);
  CHECK(driver.here().current == 0);
}

TEST_CASE("a launch finds the fake by its variable, as any device by its name") {
  fakeDriver();
  const auto on = runtime::findDevice(kFake.device, {});
  REQUIRE_MESSAGE(on, on.error().message);
  CHECK(on->name() == kFake.device + std::string(":0"));
  CHECK(runtime::findDevice(on->name(), {}));
  const Location where{.file = "app.cpp", .line = 3};
  const auto absent = runtime::findDevice(kFake.device + std::string(":7"), where);
  REQUIRE_FALSE(absent);
  CHECK(absent.error().kind == Diag::NoGpu);
  CHECK(absent.error().where == where);

  CHECK(*runtime::findDevice("auto", {}) == *on);
  CHECK(device::best() == *on);

  // A driver that failed once is asked again.
  fake::State &driver = fakeDriver();
  driver.devices = 2;
  const std::string second = kFake.device + std::string(":1");
  driver.failing = "init";
  driver.error = 1;
  CHECK_FALSE(runtime::findDevice(second, {}));
  driver.failing.clear();
  driver.error = 0;
  CHECK(runtime::findDevice(second, {}));

  const ir::Kernel kernel = scale();
  const auto gpu = runtime::gpuOf(runtime::infoOf(*on));
  const testing::PlayedGpu played(driver, kernel, *(*gpu)->code().machine);
  Diagnostics diagnostics;
  const auto executable = runtime::makeExecutable(kernel, *on, diagnostics);
  REQUIRE_MESSAGE(executable, diagnostics.render());
  std::vector<float> x = numbers(64), y(64);
  const std::vector<ir::Argument> arguments{viewOf(x.data(), 64), scalarOf(2),
                                            viewOf(y.data(), 64)};
  REQUIRE(executable->run({}, arguments, diagnostics));
  CHECK(y[63] == 128);
}

} // namespace imbrex
