#include "backend/target/host/program.h"

#include "backend/support/check.h"
#include "backend/target/host/emitter.h"
#include "backend/target/host/jit.h"
#include "backend/target/host/launch.h"
#include "backend/target/host/scratch.h"
#include "backend/target/host/thread_pool.h"
#include "llvm/IR/LLVMContext.h"

#include <map>
#include <mutex>
#include <vector>

namespace imbrex::host {
namespace {

using EntryFunction = void (*)(const std::uint64_t *words, const std::int32_t *grid,
                               std::int64_t first, std::int64_t last, std::byte *scratch,
                               void *launch);

/// The code for launches with certain traits.
struct Variant {
  std::unique_ptr<LoadedCode> code;
  EntryFunction entry = nullptr;
  std::int64_t scratchBytes = 0;
  std::vector<Site> sites;
};

Variant compileVariant(const ir::Kernel &kernel, const LaunchTraits &traits) {
  llvm::LLVMContext context;
  auto module = std::make_unique<llvm::Module>(kernel.name(), context);
  prepareModule(*module);
  const LoopPlan plan = planLoops(kernel, traits);
  Emitter emitter(*module, kernel, plan, traits, machine().vectors);
  emitter.emitEntry("entry");
  Variant variant;
  variant.scratchBytes = emitter.totalScratchBytes();
  variant.sites = emitter.takeSites();
  variant.code = compileAndLoad(std::move(module));
  variant.entry = reinterpret_cast<EntryFunction>(variant.code->address("entry"));
  return variant;
}

std::vector<std::uint64_t> argumentWords(const ir::Kernel &kernel,
                                         llvm::ArrayRef<ir::Argument> arguments) {
  std::vector<std::uint64_t> words;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ir::Type &type = kernel.type(kernel.body().arguments[i]);
    const ir::Argument &argument = arguments[i];
    const bool isScalar = type.isTile();
    words.push_back(isScalar ? argument.scalar : reinterpret_cast<std::uint64_t>(argument.data));
    if (!type.isView()) continue;
    for (std::int32_t axis = 0; axis < type.rank(); ++axis)
      words.push_back(static_cast<std::uint64_t>(argument.extents[static_cast<size_t>(axis)]));
    for (std::int32_t axis = 0; axis < type.rank(); ++axis)
      words.push_back(static_cast<std::uint64_t>(argument.strides[static_cast<size_t>(axis)]));
  }
  return words;
}

/// Machine instructions are for one machine.
bool checkAssembly(const ir::Kernel &kernel, Diagnostics &diagnostics) {
  bool isOurs = true;
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    if (op.kind != ir::OpKind::InlineAsm) return;
    const std::string &target = op.attrs<ir::AsmAttrs>().target;
    if (target == machine().name) return;
    diagnostics.report(Diag::ForeignAssembly, op.where, target, machine().name);
    isOurs = false;
  });
  return isOurs;
}

} // namespace

struct Program::Implementation {
  explicit Implementation(const ir::Kernel &source) : kernel(source.clone()) {}

  const Variant &variantFor(const LaunchTraits &traits) {
    const std::lock_guard lock(mutex);
    const auto [found, isNew] = variants.try_emplace(traits);
    if (isNew) found->second = compileVariant(kernel, traits);
    return found->second;
  }

  const ir::Kernel kernel;
  std::mutex mutex;
  std::map<LaunchTraits, Variant> variants;
};

Program::Program() = default;
Program::~Program() = default;

std::unique_ptr<Program> Program::compile(const ir::Kernel &kernel, Diagnostics &diagnostics) {
  IMBREX_CHECK(kernel.stage() == ir::Stage::Tiles,
               "the host target takes kernels without variables");
  if (!checkAssembly(kernel, diagnostics)) return nullptr;
  std::unique_ptr<Program> program(new Program);
  program->implementation_ = std::make_unique<Implementation>(kernel);
  program->implementation_->variantFor(usualTraits(kernel));
  return program;
}

bool Program::run(const ir::Grid &grid, llvm::ArrayRef<ir::Argument> arguments,
                  Diagnostics &diagnostics) const {
  const ir::Kernel &kernel = implementation_->kernel;
  IMBREX_CHECK(arguments.size() == kernel.parameterCount(), "a launch with {0} arguments for {1}",
               arguments.size(), kernel.parameterCount());
  const Variant &variant = implementation_->variantFor(traitsOf(kernel, arguments));
  const std::vector<std::uint64_t> words = argumentWords(kernel, arguments);
  Launch launch{.sites = variant.sites, .diagnostics = diagnostics};
  runInParallel(grid.blocks(), [&](std::int64_t first, std::int64_t last) {
    if (launch.stopped) return;
    const Scratch scratch(variant.scratchBytes);
    variant.entry(words.data(), grid.extents.data(), first, last, scratch.data(), &launch);
  });
  return !launch.stopped;
}

} // namespace imbrex::host
