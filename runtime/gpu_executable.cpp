#include "runtime/gpu_executable.h"

#include "backend/compile.h"
#include "backend/lower/observations.h"
#include "backend/package/package.h"
#include "backend/target/codegen/llvm_use.h"
#include "runtime/gpu/packed_arguments.h"
#include "runtime/gpu/staged_arrays.h"
#include "runtime/grid_limits.h"
#include "runtime/log.h"
#include "runtime/spill_notice.h"
#include "runtime/variants.h"

#include <algorithm>

namespace imbrex::runtime {
namespace {

/// A kernel on the device, and how it is launched.
struct DeviceCode {
  lower::KernelInterface interface;
  std::unique_ptr<gpu::LoadedKernel> loaded;

  bool observes() const {
    return std::ranges::any_of(interface.words, [](const lower::Word &word) {
      return word.kind == lower::WordKind::Observations;
    });
  }
};

/// The buffer in which a launch notes its prints and failed asserts, on the device.
class Observations {
public:
  static Result<Observations> make(const gpu::Gpu &gpu) {
    std::vector<std::uint64_t> words =
        lower::observations::emptyBuffer(lower::observations::kUsualRoom);
    const auto bytes = static_cast<std::int64_t>(words.size() * sizeof(std::uint64_t));
    auto memory = gpu.allocate(bytes);
    if (!memory) return memory.failure();
    if (const auto copied = gpu.copyIn(memory->address(), words.data(), bytes); !copied)
      return copied.failure();
    return Observations(std::move(words), std::move(*memory));
  }

  std::uint64_t address() const { return memory_.address(); }

  /// Write the lines of the launch's prints; false where an assert failed, which is reported.
  bool tell(const gpu::Gpu &gpu, const lower::KernelInterface &interface,
            Diagnostics &diagnostics) {
    const auto bytes = static_cast<std::int64_t>(words_.size() * sizeof(std::uint64_t));
    if (const auto copied = gpu.copyOut(words_.data(), address(), bytes); !copied)
      return diagnostics.add(copied.error()), false;
    return lower::observations::tell(words_, interface, stdout, diagnostics);
  }

private:
  Observations(std::vector<std::uint64_t> words, gpu::DeviceMemory memory)
      : words_(std::move(words)), memory_(std::move(memory)) {}

  std::vector<std::uint64_t> words_;
  gpu::DeviceMemory memory_;
};

/// Code that was made before, for launches that keep what most keep.
struct PrecompiledCode {
  const target::GpuTarget *target;
  std::string content;
};

/// What a device loads of an image or a package.
Result<PrecompiledCode> memberOf(const std::string &image, const gpu::Gpu &gpu) {
  const auto members = package::readCode(image);
  if (!members) return members.failure();
  const package::Member *member = package::memberFor(*members, gpu.driversName());
  const machine::Machine *machine =
      member != nullptr ? machine::findMachine(member->machine) : nullptr;
  const target::GpuTarget *target = machine != nullptr ? target::findGpuTarget(*machine) : nullptr;
  if (target == nullptr)
    return fail(Diag::NoMemberForGpu, {}, gpu.description(), package::describe(*members));
  return PrecompiledCode{.target = target, .content = member->content};
}

class GpuExecutable : public Executable {
public:
  GpuExecutable(ir::Kernel kernel, const gpu::Gpu &gpu, std::optional<PrecompiledCode> before)
      : gpu_(gpu), target_(target::gpuTarget(*gpu.code().machine)), before_(std::move(before)),
        variants_(std::move(kernel), gpu.description()) {}

  analysis::Assumptions usual() const { return wanted(variants_.usual()); }
  analysis::Assumptions keptBy(llvm::ArrayRef<ir::Argument> launch) const {
    return wanted(variants_.assumptionsOf(launch));
  }

  /// The code for launches of which this holds; null, and errors reported, where there is none.
  const DeviceCode *codeFor(const analysis::Assumptions &kept, Diagnostics &diagnostics) const {
    return variants_.find(
        kept,
        [&](ir::Kernel &kernel,
            const analysis::Assumptions &assumptions) -> std::unique_ptr<DeviceCode> {
          // It was made before the passes, as the variants' usual assumptions were.
          const bool isBefore =
              before_ && assumptions == usual() && (gpu_.knowsBoxes() || !hasEngine());
          const target::GpuTarget &target = isBefore ? *before_->target : target_;
          const target::LlvmUse use(target.machine().family);
          if (!use.isPossible(kernel.name(), diagnostics)) return nullptr;
          auto code = compileForGpu(kernel, target, assumptions, diagnostics);
          if (!code) return nullptr;
          auto loaded = isBefore ? loadCode(before_->content, code->interface) : load(*code);
          if (!loaded) return diagnostics.add(loaded.error()), nullptr;
          return std::make_unique<DeviceCode>(
              DeviceCode{.interface = std::move(code->interface), .loaded = std::move(*loaded)});
        });
  }

private:
  bool execute(const ir::Grid &grid, llvm::ArrayRef<ir::Argument> arguments,
               Diagnostics &diagnostics, const RunOptions &options) const override {
    const DeviceCode *code = codeFor(wanted(variants_.assumptionsOf(arguments)), diagnostics);
    if (code == nullptr) return false;
    if (const auto wrong =
            checkGrid(grid, target_.machine(), code->interface.threads, options.where))
      return diagnostics.add(*wrong), false;
    auto staged = gpu::StagedArrays::stage(gpu_, variants_.kernel(), arguments);
    if (!staged) return diagnostics.add(staged.error()), false;
    std::optional<Observations> observations;
    if (code->observes()) {
      auto made = Observations::make(gpu_);
      if (!made) return diagnostics.add(made.error()), false;
      observations.emplace(std::move(*made));
    }
    gpu::HiddenArguments made{.observations = observations ? observations->address() : 0};
    if (!describeBoxes(code->interface, staged->arguments(), made, diagnostics)) return false;
    const gpu::PackedArguments packed =
        gpu::packArguments(code->interface, staged->arguments(), made);
    const gpu::Launch launch{.kernel = code->interface.name,
                             .grid = grid,
                             .threads = code->interface.threads,
                             .sharedBytes = code->interface.bytesAtLaunch,
                             .arguments = packed.bytes,
                             .each = packed.each};
    if (const auto ran = launchOrTime(*code->loaded, launch, options.time); !ran)
      return diagnostics.add(ran.error()), false;
    if (const auto brought = staged->bringBack(); !brought)
      return diagnostics.add(brought.error()), false;
    return !observations || observations->tell(gpu_, code->interface, diagnostics);
  }

  bool hasEngine() const { return target_.machine().asyncCopies.haveEngine; }

  /// No code that asks the driver for what it cannot give, and no other code for what makes no
  /// difference to it.
  analysis::Assumptions wanted(analysis::Assumptions of) const {
    return hasEngine() && gpu_.knowsBoxes() ? std::move(of) : analysis::withoutBoxes(std::move(of));
  }

  bool describeBoxes(const lower::KernelInterface &interface,
                     llvm::ArrayRef<ir::Argument> arguments, gpu::HiddenArguments &made,
                     Diagnostics &diagnostics) const {
    for (const lower::BoxMap &boxes : interface.maps) {
      const auto parameter = static_cast<std::size_t>(boxes.parameter);
      const int error = gpu_.describe(boxes, arguments[parameter], made.maps.emplace_back());
      if (error == 0) continue;
      diagnostics.report(Diag::BoxMapRefused, {}, gpu_.description(),
                         variants_.kernel().parameterName(parameter), variants_.kernel().name(),
                         gpu_.textOf(error));
      return false;
    }
    return true;
  }

  using Loaded = Result<std::unique_ptr<gpu::LoadedKernel>>;

  Result<void> launchOrTime(const gpu::LoadedKernel &kernel, const gpu::Launch &launch,
                            DeviceTime *time) const {
    if (time == nullptr) return gpu_.run(kernel, launch);
    const auto milliseconds = gpu_.time(kernel, launch, time->launches);
    if (!milliseconds) return milliseconds.failure();
    time->milliseconds = *milliseconds;
    return {};
  }

  Loaded loadCode(const std::string &code, const lower::KernelInterface &interface) const {
    return gpu_.load(code, interface.name, interface.bytesAtLaunch);
  }

  /// The image that the vendor's assembler makes. Where none is found, or the driver is too old for
  /// its image, the driver is handed the assembly if it can do with that.
  Loaded load(const GpuCode &code) const {
    if (gpu_.code().asAssembly) return loadAssembly(code);
    const auto assembly = makeAssembly(code, target_);
    if (!assembly) return assembly.failure();
    const auto object = makeObject(*assembly, target_);
    if (!object && object.error().kind != Diag::NoAssembler) return object.failure();
    if (object) {
      spillNotice_.tell(spillsOf(code.interface, target_, *assembly, *object));
      auto loaded = loadCode({object->image.begin(), object->image.end()}, code.interface);
      if (loaded || !gpu_.takesAssembly()) return loaded;
    }
    log(log_level::info, "load", "kernel={0} device={1} assembled by the driver",
        code.interface.name, gpu_.description());
    return loadCode(*assembly, code.interface);
  }

  Loaded loadAssembly(const GpuCode &code) const {
    const auto assembly = makeAssembly(code, target_);
    if (!assembly) return assembly.failure();
    return loadCode(*assembly, code.interface);
  }

  const gpu::Gpu &gpu_;
  const target::GpuTarget &target_;
  std::optional<PrecompiledCode> before_;
  mutable Variants<DeviceCode> variants_;
  SpillNotice spillNotice_;
};

} // namespace

std::shared_ptr<const Executable> makeGpuExecutable(ir::Kernel kernel, const gpu::Gpu &gpu,
                                                    Diagnostics &diagnostics,
                                                    const GpuExecutableOptions &options) {
  std::optional<PrecompiledCode> before;
  if (!options.image.empty()) {
    auto member = memberOf(options.image, gpu);
    if (!member) return diagnostics.add(member.error()), nullptr;
    before = std::move(*member);
  }
  auto executable = std::make_shared<GpuExecutable>(std::move(kernel), gpu, std::move(before));
  const analysis::Assumptions first =
      options.launch.empty() ? executable->usual() : executable->keptBy(options.launch);
  return executable->codeFor(first, diagnostics) != nullptr ? executable : nullptr;
}

} // namespace imbrex::runtime
