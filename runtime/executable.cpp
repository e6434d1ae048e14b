#include "runtime/executable.h"

#include "backend/interpret/interpret.h"
#include "backend/pipeline.h"
#include "backend/target/host/run/program.h"
#include "runtime/devices.h"
#include "runtime/emulated_executable.h"
#include "runtime/gpu_executable.h"
#include "runtime/gpus.h"
#include "runtime/log.h"

#include <chrono>

namespace imbrex::runtime {
namespace {

class HostExecutable : public Executable {
public:
  explicit HostExecutable(std::unique_ptr<host::Program> program) : program_(std::move(program)) {}

private:
  bool execute(const ir::Grid &grid, llvm::ArrayRef<ir::Argument> arguments,
               Diagnostics &diagnostics, const RunOptions & /*options*/) const override {
    return program_->run(grid, arguments, diagnostics);
  }

  std::unique_ptr<host::Program> program_;
};

class InterpretedExecutable : public Executable {
public:
  explicit InterpretedExecutable(ir::Kernel kernel) : kernel_(std::move(kernel)) {}

private:
  bool execute(const ir::Grid &grid, llvm::ArrayRef<ir::Argument> arguments,
               Diagnostics &diagnostics, const RunOptions & /*options*/) const override {
    return interpret::run(kernel_, grid, arguments, diagnostics);
  }

  ir::Kernel kernel_;
};

/// The interpreter takes the kernel as near to how it was written as it can, so that its results
/// also judge the passes that other devices need.
llvm::ArrayRef<Pass> pipelineOf(DeviceKind kind) {
  switch (kind) {
  case DeviceKind::Host: return hostPipeline();
  case DeviceKind::Interpreter: return hostPipeline().take_front(1);
  case DeviceKind::Emulated:
  case DeviceKind::Cuda:
  case DeviceKind::Hip: return {}; // they depend on the launch: variants.h
  }
  IMBREX_UNREACHABLE("device");
}

std::shared_ptr<const Executable> finish(ir::Kernel kernel, const DeviceInfo &on,
                                         Diagnostics &diagnostics,
                                         llvm::ArrayRef<ir::Argument> launch) {
  switch (on.kind) {
  case DeviceKind::Host: {
    auto program = host::Program::compile(kernel, diagnostics, launch);
    return program ? std::make_shared<HostExecutable>(std::move(program)) : nullptr;
  }
  case DeviceKind::Interpreter: return std::make_shared<InterpretedExecutable>(std::move(kernel));
  case DeviceKind::Emulated:
    return makeEmulatedExecutable(std::move(kernel), *on.machine, diagnostics, launch);
  case DeviceKind::Cuda:
  case DeviceKind::Hip: {
    const auto gpu = gpuOf(on);
    if (!gpu) return diagnostics.add(gpu.error()), nullptr;
    return makeGpuExecutable(std::move(kernel), **gpu, diagnostics, {.launch = launch});
  }
  }
  IMBREX_UNREACHABLE("device");
}

} // namespace

std::shared_ptr<const Executable> makeExecutable(const ir::Kernel &kernel, device on,
                                                 Diagnostics &diagnostics,
                                                 llvm::ArrayRef<ir::Argument> launch) {
  const DefaultFloatState state;
  const auto start = std::chrono::steady_clock::now();
  const DeviceInfo &info = infoOf(on);
  ir::Kernel copy = kernel.clone();
  if (!runPasses(copy, pipelineOf(info.kind), {diagnostics, *info.machine})) return nullptr;
  auto executable = finish(std::move(copy), info, diagnostics, launch);
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
  log(log_level::info, "compile", "kernel={0} device={1} ms={2}", kernel.name(), on.name(),
      taken.count());
  return executable;
}

} // namespace imbrex::runtime
