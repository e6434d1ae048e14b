#include "backend/target/host/run/host_program.h"

#include "backend/launching/observed_run.h"
#include "backend/launching/scratch.h"
#include "backend/launching/thread_pool.h"
#include "backend/lower/observations.h"
#include "backend/support/check.h"
#include "backend/support/environment.h"
#include "backend/target/codegen/llvm_use.h"
#include "backend/target/host/inline_assembly.h"
#include "backend/target/host/kernel_code.h"
#include "backend/target/host/plan/loop_plan.h"
#include "backend/target/host/run/jit.h"

#include <atomic>
#include <mutex>
#include <vector>

namespace imbrex::host {

/// The code for launches with certain traits.
struct Variant {
  Variant(KernelCode made, LaunchTraits of)
      : traits(std::move(of)), code(load(std::move(made.object))),
        entry(reinterpret_cast<EntryFunction>(code->address(KernelCode::kEntry))),
        scratchBytes(made.scratchBytes), sites(std::move(made.sites)),
        observed(sites, scratchElementBytes) {}

  const LaunchTraits traits;
  const std::unique_ptr<LoadedCode> code;
  const EntryFunction entry;
  const std::int64_t scratchBytes;
  const std::vector<lower::ObservationSite> sites;
  const lower::observations::SiteTable observed;
  const Variant *older = nullptr;
};

namespace {

// clang's check of calls through pointers reads a mark in front of the function, which code that
// was made at run time does not have.
#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
void runBlocks(const Variant &variant, const std::uint64_t *words, const ir::Grid &grid,
               std::int64_t first, std::int64_t last, launching::ObservedRun &launch) {
  const launching::Scratch scratch(variant.scratchBytes);
  variant.entry(words, grid.extents.data(), first, last, scratch.data(), &launch);
}

std::int32_t threadCount() {
  static const std::int32_t count = launching::threadCount(environment().numThreads);
  return count;
}

} // namespace

struct HostProgram::Implementation {
  Implementation(std::shared_ptr<const ir::Kernel> source, MakeCode maker)
      : kernel(std::move(source)), make(std::move(maker)) {}

  /// The usual launch finds its code without a lock: variants are only ever added, in front. Null,
  /// and an error reported, where it can be compiled no more.
  const Variant *variantFor(const LaunchTraits &traits, Diagnostics &diagnostics) {
    if (const Variant *known = find(traits)) return known;
    const std::lock_guard lock(mutex);
    if (const Variant *known = find(traits)) return known;
    const target::LlvmUse use(machine::Family::Cpu);
    if (!use.isPossible(kernel->name(), diagnostics)) return nullptr;
    std::optional<KernelCode> made = make(traits, diagnostics);
    if (!made) return nullptr;
    owned.push_back(std::make_unique<Variant>(*std::move(made), traits));
    owned.back()->older = newest.load(std::memory_order_relaxed);
    newest.store(owned.back().get(), std::memory_order_release);
    return owned.back().get();
  }

  const Variant *find(const LaunchTraits &traits) const {
    const Variant *variant = newest.load(std::memory_order_acquire);
    while (variant != nullptr && variant->traits != traits) variant = variant->older;
    return variant;
  }

  const std::shared_ptr<const ir::Kernel> kernel; // shared with who makes its code
  const MakeCode make;
  std::atomic<const Variant *> newest = nullptr;
  std::mutex mutex; // of `owned`, and of making
  std::vector<std::unique_ptr<Variant>> owned;
};

HostProgram::HostProgram() = default;
HostProgram::~HostProgram() = default;

std::unique_ptr<HostProgram> HostProgram::compile(const ir::Kernel &kernel,
                                                  Diagnostics &diagnostics,
                                                  llvm::ArrayRef<ir::Argument> launch) {
  return compile(kernel, diagnostics, launch, nativeCompiler());
}

std::unique_ptr<HostProgram> HostProgram::compile(const ir::Kernel &kernel,
                                                  Diagnostics &diagnostics,
                                                  llvm::ArrayRef<ir::Argument> launch,
                                                  Compiler &compiler) {
  IMBREX_CHECK(kernel.stage() == ir::Stage::Tiles,
               "the host target takes kernels without variables");
  if (!checkAssembly(kernel, compiler, diagnostics)) return nullptr;
  const auto tiles = std::make_shared<const ir::Kernel>(kernel.clone());
  return from(
      tiles,
      [tiles, &compiler](const LaunchTraits &traits, Diagnostics &) {
        return compileKernel(*tiles, traits, compiler);
      },
      diagnostics, launch);
}

std::unique_ptr<HostProgram> HostProgram::from(std::shared_ptr<const ir::Kernel> kernel,
                                               MakeCode make, Diagnostics &diagnostics,
                                               llvm::ArrayRef<ir::Argument> launch) {
  std::unique_ptr<HostProgram> program(new HostProgram);
  const LaunchTraits traits = launch.empty() ? usualTraits(*kernel) : traitsOf(*kernel, launch);
  program->implementation_ = std::make_unique<Implementation>(std::move(kernel), std::move(make));
  return program->implementation_->variantFor(traits, diagnostics) ? std::move(program) : nullptr;
}

bool HostProgram::run(const ir::Grid &grid, llvm::ArrayRef<ir::Argument> arguments,
                      Diagnostics &diagnostics) const {
  const ir::Kernel &kernel = *implementation_->kernel;
  IMBREX_CHECK(arguments.size() == kernel.parameterCount(), "a launch with {0} arguments for {1}",
               arguments.size(), kernel.parameterCount());
  const Variant *variant = implementation_->variantFor(traitsOf(kernel, arguments), diagnostics);
  if (variant == nullptr) return false;
  const Words words = argumentWords(kernel, arguments);
  launching::ObservedRun launch{.sites = variant->observed.all()};
  launching::runInParallel(grid.blocks(), threadCount(),
                           [&](std::int64_t first, std::int64_t last) {
                             if (launch.isStopped) return;
                             runBlocks(*variant, words.data(), grid, first, last, launch);
                           });
  if (!launch.failed) return true;
  lower::observations::reportFailed(variant->sites[launch.failed->site], *launch.failed,
                                    diagnostics);
  return false;
}

} // namespace imbrex::host
