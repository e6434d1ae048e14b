#include "runtime/gpu_executable.h"

#include "backend/assembly.h"
#include "backend/compile.h"
#include "backend/lower/observations.h"
#include "backend/package/package.h"
#include "backend/spills.h"
#include "backend/target/codegen/llvm_use.h"
#include "runtime/gpu/launch_attributes.h"
#include "runtime/gpu/packed_arguments.h"
#include "runtime/gpu/repeatable_launch.h"
#include "runtime/gpu/staged_arrays.h"
#include "runtime/grid_limits.h"
#include "runtime/kept_code.h"
#include "runtime/log.h"
#include "runtime/spill_notice.h"
#include "runtime/variants.h"

#include <algorithm>

namespace imbrex::runtime {
namespace {

/// A kernel on the device, and how it is launched.
struct DeviceCode {
  DeviceCode(const ir::Kernel &kernel, lower::KernelInterface of,
             std::unique_ptr<gpu::LoadedKernel> made)
      : interface(std::move(of)), packer(kernel, interface), loaded(std::move(made)),
        observes(std::ranges::any_of(interface.words, [](const lower::Word &word) {
          return word.kind == lower::WordKind::Observations;
        })) {}

  const lower::KernelInterface interface;
  const gpu::ArgumentPacker packer;
  const std::unique_ptr<gpu::LoadedKernel> loaded;
  const bool observes; ///< It prints, or asserts something.
};

/// The buffer in which a launch in a stream notes its prints and failed asserts, on the device.
class Observations {
public:
  static Result<Observations> make(const gpu::SupportedGpu &gpu, void *stream) {
    constexpr auto kHead = lower::observations::emptyHead(kRoom);
    auto memory = gpu.allocate(bytesOf(kHead.size() + kRoom), stream);
    if (!memory) return memory.failure();
    if (const auto copied =
            gpu.copyIn(memory->address(), kHead.data(), bytesOf(kHead.size()), stream);
        !copied)
      return copied.failure();
    return Observations(gpu, stream, std::move(*memory));
  }

  std::uint64_t address() const { return memory_.address(); }

  /// Write the lines of the launch's prints; false where an assert failed, which is reported.
  bool tell(const lower::KernelInterface &interface, Diagnostics &diagnostics) const {
    Result<void> copied;
    const auto copyOut = [&](std::uint64_t *to, std::uint64_t at, std::uint64_t count) {
      copied = gpu_->copyOut(to, address() + at * sizeof *to, bytesOf(count), stream_);
      return static_cast<bool>(copied);
    };
    std::vector<std::uint64_t> words;
    if (!lower::observations::fetch(kRoom, words, copyOut))
      return diagnostics.add(copied.error()), false;
    return lower::observations::tell(words, interface, stdout, diagnostics);
  }

private:
  static constexpr std::uint64_t kRoom = lower::observations::kUsualRoom;

  Observations(const gpu::SupportedGpu &gpu, void *stream, gpu::DeviceMemory memory)
      : gpu_(&gpu), stream_(stream), memory_(std::move(memory)) {}

  static std::int64_t bytesOf(std::uint64_t words) {
    return static_cast<std::int64_t>(words * sizeof(std::uint64_t));
  }

  const gpu::SupportedGpu *gpu_;
  void *stream_;
  gpu::DeviceMemory memory_;
};

/// Code that was made before, for launches that keep what most keep.
struct PrecompiledCode {
  const target::GpuTarget *target;
  std::string content;
};

/// What a device loads of an image or a package.
Result<PrecompiledCode> memberOf(const std::string &image, const gpu::SupportedGpu &gpu) {
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
  GpuExecutable(ir::Kernel kernel, const gpu::SupportedGpu &gpu,
                std::optional<PrecompiledCode> before)
      : gpu_(gpu), target_(target::gpuTarget(*gpu.code().machine)), before_(std::move(before)),
        variants_(std::move(kernel), gpu.description()) {}

  analysis::Assumptions usual() const { return wanted(variants_.usual()); }
  analysis::Assumptions keptBy(llvm::ArrayRef<ir::Argument> launch) const {
    return wanted(variants_.assumptionsOf(launch));
  }

  /// The code for launches of which this holds; null, and errors reported, where there is none.
  const DeviceCode *codeFor(const analysis::Assumptions &kept, Diagnostics &diagnostics,
                            const RunOptions &options = {}) const {
    return variants_.find(
        kept,
        [&](ir::Kernel &kernel,
            const analysis::Assumptions &assumptions) -> std::unique_ptr<DeviceCode> {
          if (const auto refused =
                  refusedInCapture(variants_.kernel(), gpu_, options, Captured::Loading))
            return diagnostics.add(*refused), nullptr;
          // It was made before the passes, as the variants' usual assumptions were.
          const bool isBefore =
              before_ && assumptions == usual() && (gpu_.knowsBoxes() || !hasEngine());
          const target::GpuTarget &target = isBefore ? *before_->target : target_;
          const target::LlvmUse use(target.machine().family);
          if (!use.isPossible(kernel.name(), diagnostics)) return nullptr;
          std::optional<KeptCode> onDisk;
          if (!isBefore) {
            onDisk.emplace(kernel, target, gpu_.code().asAssembly, assumptions);
            if (auto found = loadKept(*onDisk)) return found;
          }
          // Of code from before, too: to know how it is launched.
          auto code = compileForGpu(kernel, target, assumptions, diagnostics);
          if (!code) return nullptr;
          auto loaded =
              isBefore ? loadCode(before_->content, code->interface) : load(*code, *onDisk);
          if (!loaded) return diagnostics.add(loaded.error()), nullptr;
          return std::make_unique<DeviceCode>(kernel, std::move(code->interface),
                                              std::move(*loaded));
        });
  }

private:
  bool execute(const ir::Grid &grid, llvm::ArrayRef<ir::Argument> arguments,
               Diagnostics &diagnostics, const RunOptions &options) const override {
    const DeviceCode *code =
        codeFor(wanted(variants_.assumptionsOf(arguments)), diagnostics, options);
    if (code == nullptr) return false;
    if (const auto wrong =
            checkGrid(grid, target_.machine(), code->interface.threads, options.where))
      return diagnostics.add(*wrong), false;
    if (const auto wrong = checkClusters(grid, code->interface.asked.cluster, options.where))
      return diagnostics.add(*wrong), false;
    const auto copied = gpu::firstToCopy(gpu_, variants_.kernel(), arguments, options.where);
    if (!copied) return diagnostics.add(copied.error()), false;
    if (options.stream != nullptr && *copied)
      return diagnostics.add(toCopyInStream(**copied, options.where)), false;
    auto observations = observationsOf(*code, options);
    if (!observations) return diagnostics.add(observations.error()), false;
    std::optional<gpu::StagedArrays> staged;
    if (*copied) {
      auto made = gpu::StagedArrays::stage(gpu_, variants_.kernel(), arguments, options.where);
      if (!made) return diagnostics.add(made.error()), false;
      staged.emplace(std::move(*made));
      arguments = staged->arguments();
    }
    const Run run{.grid = grid,
                  .arguments = arguments,
                  .observations = *observations ? (*observations)->address() : 0,
                  .isAwaited = staged || *observations};
    if (!launch(*code, run, diagnostics, options)) return false;
    if (staged)
      if (const auto brought = staged->bringBack(); !brought)
        return diagnostics.add(brought.error()), false;
    return !*observations || (*observations)->tell(code->interface, diagnostics);
  }

  /// The error of a parameter for which something would have to be copied first.
  Diagnostic toCopyInStream(std::size_t parameter, Location where) const {
    const ir::Kernel &kernel = variants_.kernel();
    const bool isTable = kernel.parameterType(parameter).isTable();
    return diagnostic(isTable ? Diag::TableInStream : Diag::HostArrayInStream, where,
                      kernel.parameterName(parameter), gpu_.description());
  }

  /// Where the launch notes what it prints and asserts, if it does.
  Result<std::optional<Observations>> observationsOf(const DeviceCode &code,
                                                     const RunOptions &options) const {
    if (!code.observes) return std::optional<Observations>();
    if (auto refused = refusedInCapture(variants_.kernel(), gpu_, options, Captured::Telling))
      return Failure{std::move(*refused)};
    auto made = Observations::make(gpu_, options.stream);
    if (!made) return made.failure();
    return std::optional(std::move(*made));
  }

  struct Run {
    const ir::Grid &grid;
    llvm::ArrayRef<ir::Argument> arguments; ///< In the device's memory.
    std::uint64_t observations;
    bool isAwaited;
  };

  bool launch(const DeviceCode &code, const Run &run, Diagnostics &diagnostics,
              const RunOptions &options) const {
    gpu::HiddenArguments made{.observations = run.observations};
    if (!describeBoxes(code.interface, run.arguments, made, diagnostics)) return false;
    gpu::PackedArguments packed;
    code.packer.pack(run.arguments, made, packed);
    const gpu::Launch launch{.grid = run.grid.extents,
                             .threads = code.interface.threads,
                             .sharedBytes = code.interface.bytesAtLaunch,
                             .arguments = packed.bytes,
                             .each = packed.each,
                             .attributes = gpu::launchAttributesOf(code.interface.asked),
                             .stream = options.stream};
    const auto done = launchOrTime(*code.loaded, launch, options.time, run.isAwaited);
    if (!done) return diagnostics.add(done.error()), false;
    if (options.repeatable != nullptr && !run.isAwaited)
      options.repeatable->keep(gpu_, *code.loaded, launch, code.packer.numbers());
    return true;
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
                            DeviceTime *time, bool isAwaited) const {
    if (time == nullptr) return isAwaited ? gpu_.run(kernel, launch) : gpu_.start(kernel, launch);
    const auto milliseconds = gpu_.time(kernel, launch, time->launches);
    if (!milliseconds) return milliseconds.failure();
    time->milliseconds = *milliseconds;
    return {};
  }

  Loaded loadCode(const std::string &code, const lower::KernelInterface &interface) const {
    const auto blocks = static_cast<std::int32_t>(interface.asked.clusterBlocks());
    return gpu_.load(code, interface.name,
                     {.sharedBytes = interface.bytesAtLaunch, .clusterBlocks = blocks});
  }

  /// What another process, or this one before, has compiled; null where there is nothing, or the
  /// driver no longer takes it.
  std::unique_ptr<DeviceCode> loadKept(const KeptCode &kept) const {
    auto found = kept.find();
    if (!found) return nullptr;
    auto loaded = loadCode(found->content, found->interface);
    if (!loaded) return kept.forget(), nullptr;
    spillNotice_.tell(found->spills);
    return std::make_unique<DeviceCode>(variants_.kernel(), std::move(found->interface),
                                        std::move(*loaded));
  }

  /// The image that the vendor's assembler makes. Where none is found, or the driver is too old for
  /// its image, the driver is handed the assembly if it can do with that. What a driver of today
  /// takes is kept.
  Loaded load(GpuCode &code, const KeptCode &kept) const {
    const auto assembly = makeAssemblyInPlace(code, target_);
    if (!assembly) return assembly.failure();
    LoadableCode made{.interface = code.interface, .content = *assembly, .isAssembly = true};
    if (gpu_.code().asAssembly) return loadAndKeep(made, kept);
    const auto object = makeObject(*assembly, target_);
    if (!object && object.error().kind != Diag::NoAssembler) return object.failure();
    if (object) {
      made = {.interface = code.interface,
              .content = {object->image.begin(), object->image.end()},
              .spills = SpillNotice::textOf(spillsOf(code, target_, *assembly, *object))};
      spillNotice_.tell(made.spills);
      auto loaded = loadAndKeep(made, kept);
      if (loaded || !gpu_.takesAssembly()) return loaded;
    }
    log(log_level::info, "load", "kernel={0} device={1} assembled by the driver",
        code.interface.name, gpu_.description());
    return object ? loadCode(*assembly, code.interface) : loadAndKeep(made, kept);
  }

  Loaded loadAndKeep(const LoadableCode &made, const KeptCode &kept) const {
    auto loaded = loadCode(made.content, made.interface);
    if (loaded) kept.keep(made);
    return loaded;
  }

  const gpu::SupportedGpu &gpu_;
  const target::GpuTarget &target_;
  std::optional<PrecompiledCode> before_;
  mutable Variants<DeviceCode> variants_;
  SpillNotice spillNotice_;
};

} // namespace

std::optional<Diagnostic> refusedInCapture(const ir::Kernel &kernel, const gpu::SupportedGpu &gpu,
                                           const RunOptions &launch, Captured what) {
  if (launch.stream == nullptr || !gpu.isCapturing(launch.stream)) return std::nullopt;
  const bool isLoading = what == Captured::Loading;
  return diagnostic(Diag::CapturedLaunch, launch.where, kernel.name(), gpu.description(),
                    isLoading ? "load its code" : "wait for what it prints and asserts",
                    isLoading ? "launch it once before" : "launch it in another stream");
}

std::shared_ptr<const Executable> makeGpuExecutable(ir::Kernel kernel, const gpu::SupportedGpu &gpu,
                                                    Diagnostics &diagnostics,
                                                    const GpuExecutableOptions &options) {
  const char *const lacked = gpu.driver().lacksFor(gpu::launchAttributesOf(kernel.attributes()));
  if (lacked != nullptr) {
    diagnostics.report(Diag::LaunchOfDriver, kernel.where(), gpu.description(), kernel.name(),
                       lacked);
    return nullptr;
  }
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
