#include "runtime/executable.h"

#include "backend/interpret/interpret.h"
#include "backend/machine/machine.h"
#include "backend/pipeline.h"
#include "backend/target/host/inline_assembly.h"
#include "backend/target/host/kernel_code.h"
#include "backend/target/host/run/host_program.h"
#include "backend/target/host/run/jit.h"
#include "runtime/devices.h"
#include "runtime/emulated_executable.h"
#include "runtime/gpu_executable.h"
#include "runtime/gpus.h"
#include "runtime/kept_code.h"
#include "runtime/log.h"

#include <chrono>

namespace imbrex::runtime {
namespace {

/// Makes the processor's code of a kernel as it was traced, unless another process has made it.
class HostCodeMaker {
public:
  explicit HostCodeMaker(std::shared_ptr<const ir::Kernel> kernel) : traced_(std::move(kernel)) {}

  std::optional<host::KernelCode> make(const host::LaunchTraits &traits, Diagnostics &diagnostics) {
    host::Compiler &compiler = host::nativeCompiler();
    const KeptHostCode onDisk(*traced_, compiler, traits);
    if (auto found = onDisk.find()) return found;
    const std::size_t told = diagnostics.all().size();
    if (!lower(compiler, diagnostics)) return std::nullopt;
    host::KernelCode made = host::compileKernel(*tiles_, traits, compiler);
    if (diagnostics.all().size() == told) onDisk.keep(made); // or others would not be told
    return made;
  }

private:
  /// Once, to what code is made of.
  bool lower(host::Compiler &compiler, Diagnostics &diagnostics) {
    if (tiles_) return true;
    ir::Kernel kernel = traced_->clone();
    if (!runPasses(kernel, hostPipeline(), {diagnostics, machine::hostMachine()}) ||
        !host::checkAssembly(kernel, compiler, diagnostics))
      return false;
    tiles_ = std::move(kernel);
    return true;
  }

  const std::shared_ptr<const ir::Kernel> traced_;
  std::optional<ir::Kernel> tiles_;
};

class HostExecutable : public Executable {
public:
  explicit HostExecutable(std::unique_ptr<host::HostProgram> program)
      : program_(std::move(program)) {}

private:
  bool execute(const ir::Grid &grid, llvm::ArrayRef<ir::Argument> arguments,
               Diagnostics &diagnostics, const RunOptions & /*options*/) const override {
    return program_->run(grid, arguments, diagnostics);
  }

  std::unique_ptr<host::HostProgram> program_;
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

std::shared_ptr<const Executable> finish(ir::Kernel kernel, const DeviceInfo &on,
                                         Diagnostics &diagnostics,
                                         llvm::ArrayRef<ir::Argument> launch) {
  switch (on.kind) {
  case DeviceKind::Host: {
    const auto traced = std::make_shared<const ir::Kernel>(std::move(kernel));
    const auto maker = std::make_shared<HostCodeMaker>(traced);
    auto program = host::HostProgram::from(
        traced,
        [maker](const host::LaunchTraits &traits, Diagnostics &to) {
          return maker->make(traits, to);
        },
        diagnostics, launch);
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
  // The interpreter takes the kernel as near to how it was written as it can, so that its results
  // also judge the passes that other devices need. These depend on the launch (variants.h), or
  // another process has run them.
  const auto passes = hostPipeline().take_front(info.kind == DeviceKind::Interpreter ? 1 : 0);
  if (!runPasses(copy, passes, {diagnostics, *info.machine})) return nullptr;
  auto executable = finish(std::move(copy), info, diagnostics, launch);
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
  log(log_level::info, "compile", "kernel={0} device={1} ms={2}", kernel.name(), on.name(),
      taken.count());
  return executable;
}

} // namespace imbrex::runtime
