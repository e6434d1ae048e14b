#include "backend/interpret/requirements.h"
#include "backend/support/diagnostics.h"
#include "llvm/Support/MemoryBuffer.h"
#include "runtime/devices.h"
#include "runtime/executable.h"
#include "runtime/gpu_executable.h"
#include "runtime/gpus.h"
#include "tools/imbrex/command.h"
#include "tools/imbrex/launch.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <limits>

namespace imbrex::tool {
namespace {

namespace cl = llvm::cl;

cl::SubCommand runOptions("run", "Run the kernel of a file of IR on real data");
cl::opt<std::string> file(cl::Positional, cl::desc("FILE.imx (- is standard input)"),
                          Of{runOptions});
cl::opt<std::string> gridText("grid", cl::value_desc("x,y,z"),
                              cl::desc("How many blocks to run along each axis"), Of{runOptions});
cl::opt<std::string>
    deviceName("device", cl::value_desc("name"),
               cl::desc("As `imbrex targets` lists them; by default that of IMBREX_DEVICE"),
               Of{runOptions});
cl::list<std::string> argumentTexts(
    "arg", cl::value_desc("name=value"),
    cl::desc("An argument: a number, @file.npy, or an array made here, as zeros:f32:128x64 "
             "(also ones, arange, random, empty)"),
    Of{runOptions});
cl::list<std::string> outputTexts("out", cl::value_desc("name=@file.npy"),
                                  cl::desc("Write an argument's array after the run"),
                                  Of{runOptions});
cl::opt<std::string>
    imageFile("image", cl::value_desc("file"),
              cl::desc("What `imbrex compile` has made of the kernel, for a GPU to run"),
              Of{runOptions});
cl::opt<bool> withTimes("time", cl::desc("Print to stderr how long compiling and running took"),
                        Of{runOptions});

cl::opt<std::string> seedText("seed", cl::value_desc("number"), cl::init("0"),
                              cl::desc("Of the order in which an emulated device runs its warps, "
                                       "and of what else may differ"),
                              Of{runOptions});
cl::opt<emulate::Delivery, false, NamedValueParser<emulate::Delivery>> delivery(
    "delivery", cl::desc("When copies arrive that run beside the threads of an emulated device"),
    cl::init(emulate::Delivery::Late),
    cl::values(clEnumValN(emulate::Delivery::Late, "late", "when they are waited for"),
               clEnumValN(emulate::Delivery::Random, "random", "at any moment up to then")),
    Of{runOptions});
cl::opt<emulate::Numerics, false, NamedValueParser<emulate::Numerics>>
    numerics("numerics", cl::desc("How the matrix instructions of an emulated device add up"),
             cl::init(emulate::Numerics::Exact),
             cl::values(clEnumValN(emulate::Numerics::Exact, "exact", "exactly, and round once"),
                        clEnumValN(emulate::Numerics::Adversarial, "adversarial",
                                   "as badly as the machine is known to, by the seed")),
             Of{runOptions});
enum class Profile : std::uint8_t { None, Text, Json };
cl::opt<Profile, false, NamedValueParser<Profile>>
    profile("profile", cl::ValueOptional, cl::init(Profile::None),
            cl::desc("Print what the run has cost on an emulated device"),
            cl::values(clEnumValN(Profile::Text, "", "as a table"),
                       clEnumValN(Profile::Text, "text", "as a table"),
                       clEnumValN(Profile::Json, "json", "as JSON")),
            Of{runOptions});

using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Result<device> chooseDevice() {
  return deviceName.empty() ? runtime::currentDevice() : runtime::findDevice(deviceName, {});
}

/// What the device would pass over in silence.
std::optional<Failure<Diagnostic>> checkOptionsFor(const DeviceInfo &info) {
  const std::array<const cl::Option *, 4> ofEmulation{&profile, &seedText, &delivery, &numerics};
  for (const cl::Option *option : ofEmulation)
    if (option->getNumOccurrences() != 0 && info.kind != DeviceKind::Emulated)
      return fail(Diag::EmulationOption, {}, option->ArgStr.str(), info.name);
  if (!imageFile.empty() && !runtime::isGpu(info.kind))
    return fail(Diag::ImageDevice, {}, info.name);
  return std::nullopt;
}

Result<std::uint64_t> readSeed() {
  std::uint64_t seed = 0;
  if (!llvm::StringRef(seedText).getAsInteger(10, seed)) return seed;
  return fail(Diag::BadOptionNumber, {}, "--seed", 0, std::numeric_limits<std::uint64_t>::max(),
              seedText.getValue(), "one number is one order of the warps");
}

/// What the command line asks for, understood.
Result<RequestedLaunch> readLaunch(const ir::Kernel &kernel) {
  auto on = chooseDevice();
  if (!on) return on.failure();
  const DeviceInfo &info = runtime::infoOf(*on);
  if (const auto wrong = checkOptionsFor(info)) return *wrong;
  const auto seed = readSeed();
  if (!seed) return seed.failure();
  auto blocks = parseGrid(gridText);
  if (!blocks) return blocks.failure();
  auto arguments = bindArguments(kernel, argumentTexts);
  if (!arguments) return arguments.failure();
  auto outputs = parseOutputs(kernel, *arguments, outputTexts);
  if (!outputs) return outputs.failure();
  return RequestedLaunch{.on = *on,
                         .grid = *blocks,
                         .seed = *seed,
                         .arguments = std::move(*arguments),
                         .outputs = std::move(*outputs)};
}

void printProfile(const emulate::Counters &counters) {
  switch (profile) {
  case Profile::None: return;
  case Profile::Text: std::fputs(emulate::toText(counters).c_str(), stdout); return;
  case Profile::Json: std::fputs(emulate::toJson(counters).c_str(), stdout); return;
  }
}

using Executable = std::shared_ptr<const runtime::Executable>;

/// The code of --image on a GPU, else what is compiled now.
Executable makeExecutable(const ir::Kernel &kernel, device on, llvm::ArrayRef<ir::Argument> launch,
                          Diagnostics &diagnostics) {
  const DeviceInfo &info = runtime::infoOf(on);
  if (imageFile.empty()) return runtime::makeExecutable(kernel, on, diagnostics, launch);
  const auto bytes = llvm::MemoryBuffer::getFile(imageFile);
  if (!bytes) return diagnostics.report(Diag::UnreadableFile, {}, imageFile), nullptr;
  const auto gpu = runtime::gpuOf(info);
  if (!gpu) return diagnostics.add(gpu.error()), nullptr;
  return runtime::makeGpuExecutable(kernel.clone(), **gpu, diagnostics,
                                    {.image = (*bytes)->getBuffer().str()});
}

bool execute(const ir::Kernel &kernel, const RequestedLaunch &launch, Diagnostics &diagnostics) {
  std::vector<ir::Argument> arguments;
  for (const BoundArgument &bound : launch.arguments) arguments.push_back(bound.argument);
  if (const auto unmet = interpret::Requirements(kernel).unmet(arguments, {}))
    return diagnostics.add(*unmet), false;
  const Clock::time_point start = Clock::now();
  const Executable executable = makeExecutable(kernel, launch.on, arguments, diagnostics);
  if (!executable) return false;
  const double compiling = millisecondsSince(start);
  const Clock::time_point launched = Clock::now();
  emulate::Counters counters;
  const runtime::RunOptions options{
      .emulated = {.seed = launch.seed,
                   .delivery = delivery,
                   .numerics = numerics,
                   .counters = profile != Profile::None ? &counters : nullptr}};
  if (launch.grid.blocks() != 0 && !executable->run(launch.grid, arguments, diagnostics, options))
    return false;
  printProfile(counters);
  if (withTimes)
    std::fprintf(stderr, "compile_ms=%.3g run_ms=%.3g\n", compiling, millisecondsSince(launched));
  return true;
}

bool runFile(Diagnostics &diagnostics) {
  const auto kernel = readKernel(file, diagnostics);
  if (!kernel) return false;
  auto launch = readLaunch(*kernel);
  if (!launch) return diagnostics.add(launch.error()), false;
  if (!execute(*kernel, *launch, diagnostics)) return false;
  for (const Output &output : launch->outputs) {
    const auto written = writeNpy(output.path, arrayOf(*output.array));
    if (!written) return diagnostics.add(written.error()), false;
  }
  return true;
}

int run() {
  if (file.empty()) return reportMissingFile("run");
  if (gridText.getNumOccurrences() == 0) return reportUsage(diagnostic(Diag::MissingGrid, {}));
  Diagnostics diagnostics;
  const bool ok = runFile(diagnostics);
  return conclude(ok, diagnostics);
}

} // namespace

const Subcommand kRun{.options = &runOptions, .run = run};

} // namespace imbrex::tool
