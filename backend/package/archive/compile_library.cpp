#include "backend/assembly.h"
#include "backend/compile.h"
#include "backend/ir/observed_tile.h"
#include "backend/launching/thread_pool.h"
#include "backend/lower/observations.h"
#include "backend/package/archive/assumed.h"
#include "backend/package/archive/host_compiler.h"
#include "backend/package/archive/launch_program.h"
#include "backend/package/archive/library.h"
#include "backend/package/choice/tables.h"
#include "backend/package/package.h"
#include "backend/pipeline.h"
#include "backend/spills.h"
#include "backend/support/environment.h"
#include "backend/support/float_state.h"
#include "backend/support/text.h"
#include "backend/target/codegen/loc_lines.h"
#include "backend/target/host/inline_assembly.h"
#include "backend/target/host/kernel_code.h"
#include "backend/target/host/plan/loop_plan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"

namespace imbrex::archive {
namespace {

using analysis::Assumptions;

/// One code on its way into the library.
struct Task {
  const Library &library;
  const LibraryKernel &of;
  const LibraryTarget &target;
  Assumptions assumptions;
  std::size_t number; ///< Among the kernel's of this target.
  const LibraryOptions &options;
  Diagnostics diagnostics = {};
  std::optional<LibraryCode> made = {};

  const ir::Kernel &kernel() const { return of.kernel; }
};

/// What no library can have yet is told before anything is compiled.
void refuseInLibrary(const LibraryKernel &of, Diagnostics &diagnostics) {
  const ir::Kernel &kernel = of.kernel;
  if (kernel.parameterCount() > aot::kMostParameters)
    diagnostics.report(Diag::TooMuchForLibrary, kernel.where(), of.name, kernel.parameterCount(),
                       "parameters", aot::kMostParameters);
}

/// Whether a launch has room for what the code is passed.
bool hasRoom(const CodeOnGpu &code, Task &of) {
  const auto bytes = static_cast<std::size_t>(lower::placesOf(code.words).back());
  if (bytes > aot::kMostArgumentBytes)
    of.diagnostics.report(Diag::TooMuchForLibrary, of.kernel().where(), of.of.name, bytes,
                          "bytes of arguments", aot::kMostArgumentBytes);
  if (code.words.size() > aot::kMostWords)
    of.diagnostics.report(Diag::TooMuchForLibrary, of.kernel().where(), of.of.name,
                          code.words.size(), "words of arguments", aot::kMostWords);
  return !of.diagnostics.hasErrors();
}

/// Sources lie where they lie, and a library is the same all the same.
std::string placeOf(const Location &where, const LibraryOptions &options) {
  Location named = where;
  if (!options.keepsLines) named.file = llvm::sys::path::filename(where.file);
  return toText(named);
}

/// Of code that has not lost its IR yet.
std::vector<CodeSite> sitesOf(llvm::ArrayRef<lower::ObservationSite> sites,
                              std::int64_t (*elementBytes)(const ir::Type &),
                              const LibraryOptions &options) {
  std::vector<CodeSite> kept;
  for (const lower::ObservationSite &site : sites) {
    CodeSite &one = kept.emplace_back();
    one.text = site.op->attrs<ir::TextAttrs>().text;
    one.place = placeOf(site.op->where, options);
    for (const ir::Type &type : site.types)
      one.tiles.push_back(ir::observedTile(type, elementBytes(type)));
  }
  return kept;
}

// --- for a GPU ---

std::string packed(const Task &of, std::string content) {
  if (!of.options.isCompressed) return content;
  const package::Member member{
      .machine = of.target.name, .isAssembly = of.target.isAssembly, .content = std::move(content)};
  return package::writePackage(of.target.machine->family, member, /*compressed=*/true);
}

/// Which of a kernel's codes for a target it is: by its name in the library, its elements, and how
/// much it takes for granted of what the code for most launches does.
std::string nameOf(const Task &of) {
  const ir::Kernel &kernel = of.kernel();
  std::vector<std::string_view> elements;
  for (std::size_t i = 0; i < kernel.parameterCount(); ++i)
    if (const auto name = ir::info(kernel.parameterType(i).element()).name;
        kernel.parameterType(i).hasMemory() && !llvm::is_contained(elements, name))
      elements.push_back(name);
  const std::string config = of.of.config.empty() ? "" : ", configuration " + of.of.config;
  const std::int64_t most = assumedOnGpu(kernel, *of.target.machine).front().count();
  return " (" + of.of.name + config + "; of " + joined(elements) + "; assuming " +
         std::to_string(of.assumptions.count()) + " of " + std::to_string(most) + ")";
}

Result<void> makeImage(Task &of, const GpuCode &code, CodeOnGpu &made) {
  const target::GpuTarget &target = target::gpuTarget(*of.target.machine);
  const auto assembly = makeAssembly(code, target);
  if (!assembly) return assembly.failure();
  const std::string text = of.options.keepsLines ? *assembly : target::withoutLines(*assembly);
  if (of.target.isAssembly) return made.image = packed(of, text), Result<void>();
  const auto object = makeObject(text, target);
  // What is wrong, or spilled, is told of its line.
  const bool hasToTell = !object || target.resources(*object).spilledBytes > 0;
  if (hasToTell) {
    const auto told = of.options.keepsLines ? object : makeObject(*assembly, target);
    if (!told) return told.failure();
    made.spills = spillsOf(code, target, *assembly, *told, nameOf(of));
  }
  if (!object) return object.failure();
  made.resources = target.resources(*object);
  made.image = packed(of, std::string(object->image.begin(), object->image.end()));
  return {};
}

std::optional<CodeOnGpu> compileOnGpu(Task &of) {
  ir::Kernel kernel = of.kernel().clone();
  const auto code =
      compileForGpu(kernel, target::gpuTarget(*of.target.machine), of.assumptions, of.diagnostics);
  if (!code) return std::nullopt;
  const lower::KernelInterface &interface = code->interface;
  CodeOnGpu made{.symbol = interface.name,
                 .words = interface.words,
                 .maps = interface.maps,
                 .threads = interface.threads,
                 .bytesAtLaunch = interface.bytesAtLaunch,
                 .sharedMemoryBytes = interface.sharedMemoryBytes,
                 .sites = sitesOf(interface.sites, lower::observations::wordBytes, of.options)};
  if (!hasRoom(made, of)) return std::nullopt;
  if (const auto done = makeImage(of, *code, made); !done)
    return of.diagnostics.add(done.error()), std::nullopt;
  return made;
}

// --- for the processor ---

/// A baseline of a processor, and how code for it is called.
struct HostTarget {
  const llvm::Triple &triple;
  std::string cpu;
  std::string entry;
  const LibraryOptions &options;
};

std::optional<CodeOnHost> compileOnHost(const ir::Kernel &given, const Assumptions &assumptions,
                                        const HostTarget &target, Diagnostics &diagnostics) {
  auto compiler = compilerFor(target.triple, target.cpu);
  if (!compiler) return diagnostics.add(compiler.error()), std::nullopt;
  ir::Kernel kernel = given.clone();
  if (!runPasses(kernel, hostPipeline(), {diagnostics})) return std::nullopt;
  if (!host::checkAssembly(kernel, **compiler, diagnostics)) return std::nullopt;
  auto code = host::compileKernel(kernel, traitsOf(kernel, assumptions), **compiler, target.entry);
  return CodeOnHost{.object = std::move(code.object),
                    .entry = target.entry,
                    .scratchBytes = code.scratchBytes,
                    .sites = sitesOf(code.sites, host::scratchElementBytes, target.options)};
}

std::optional<CodeOnHost> compileOnHost(Task &of) {
  // No function in C can be called so, as they have no dots.
  const HostTarget target{.triple = of.library.triple,
                          .cpu = of.target.name,
                          .entry = of.library.codeSymbolOf(of.of) + "." + of.target.name + "." +
                                   std::to_string(of.number),
                          .options = of.options};
  return compileOnHost(of.kernel(), of.assumptions, target, of.diagnostics);
}

/// What a launch computes first, wherever it runs then.
bool compileForLaunches(const Library &library, LibraryKernel &of, const LibraryOptions &options,
                        Diagnostics &diagnostics) {
  const auto compiled = [&](const ir::Kernel &kernel, const char *suffix, CodeOnHost &code) {
    const HostTarget target{.triple = library.triple,
                            .cpu = oldestCpu(library.triple),
                            .entry = library.codeSymbolOf(of) + suffix,
                            .options = options};
    auto made = compileOnHost(kernel, {}, target, diagnostics);
    if (made) code = std::move(*made);
    return made.has_value();
  };
  const std::vector<RequiredPart> required = requiredBy(of.kernel);
  return (!of.blocks || compiled(*of.blocks, ".blocks", of.blocksCode)) &&
         (required.empty() || compiled(checkKernel(of.kernel, required), ".check", of.checkCode));
}

void compile(Task &of) {
  const DefaultFloatState state;
  LibraryCode code{.target = of.target, .assumptions = of.assumptions};
  if (of.target.isHost()) {
    auto made = compileOnHost(of);
    if (!made) return;
    code.host = std::move(*made);
  } else {
    auto made = compileOnGpu(of);
    if (!made) return;
    code.gpu = std::move(*made);
  }
  of.made = std::move(code);
}

bool isSame(const CodeOnGpu &code, const CodeOnGpu &other) {
  return code.image == other.image && code.maps == other.maps &&
         code.bytesAtLaunch == other.bytesAtLaunch && code.sites == other.sites;
}

/// Those that assume more than they need to are left out: their launches would run the same.
std::vector<LibraryCode> neededOf(std::vector<LibraryCode> codes) {
  std::vector<LibraryCode> needed; // the weakest first
  for (LibraryCode &code : llvm::reverse(codes)) {
    const auto instead = llvm::find_if(llvm::reverse(needed), [&](const LibraryCode &weaker) {
      return toText(code.target) == toText(weaker.target) &&
             code.assumptions.cover(weaker.assumptions);
    });
    if (instead == needed.rend() || code.target.isHost() || !isSame(code.gpu, instead->gpu))
      needed.push_back(std::move(code));
  }
  std::ranges::reverse(needed);
  return needed;
}

/// The kernels and those of their configurations that launches can run.
std::vector<LibraryKernel *> compiledOf(Library &library) {
  std::vector<LibraryKernel *> all;
  for (LibraryKernel &kernel : library.kernels) {
    all.push_back(&kernel);
    for (LibraryKernel &config : kernel.configs)
      if (!config.targets.empty()) all.push_back(&config);
  }
  return all;
}

/// Of the codes of a kernel for a target, the most first.
std::vector<Assumptions> assumptionsOf(const LibraryKernel &of, const LibraryTarget &target,
                                       const LibraryOptions &options) {
  std::vector<Assumptions> each =
      target.isHost() ? assumedOnHost(of.kernel) : assumedOnGpu(of.kernel, *target.machine);
  if (options.assumesNothing) each.erase(each.begin(), std::prev(each.end()));
  return each;
}

std::vector<Task> tasksOf(const Library &library, llvm::ArrayRef<LibraryKernel *> kernels,
                          const LibraryOptions &options) {
  std::vector<Task> tasks;
  for (const LibraryKernel *of : kernels)
    for (const LibraryTarget &target : of->targets) {
      std::size_t number = 0;
      for (Assumptions &one : assumptionsOf(*of, target, options))
        tasks.push_back({.library = library,
                         .of = *of,
                         .target = target,
                         .assumptions = std::move(one),
                         .number = number++,
                         .options = options});
    }
  return tasks;
}

} // namespace

bool compileLibrary(Library &library, const LibraryOptions &options, Diagnostics &diagnostics) {
  for (LibraryKernel &kernel : library.kernels) kernel.targets = options.targets;
  const std::vector<LibraryKernel *> kernels = compiledOf(library);
  for (const LibraryKernel *kernel : kernels) refuseInLibrary(*kernel, diagnostics);
  if (diagnostics.hasErrors()) return false;
  for (LibraryKernel *kernel : kernels)
    if (!compileForLaunches(library, *kernel, options, diagnostics)) return false;
  std::vector<Task> tasks = tasksOf(library, kernels, options);
  constexpr std::int64_t kLongest = 1; // few tasks, of which neighbours may take long
  launching::runInParallel(
      std::ssize(tasks), launching::threadCount(environment().numThreads),
      [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) compile(tasks[static_cast<std::size_t>(i)]);
      },
      kLongest);
  std::size_t next = 0;
  for (LibraryKernel *kernel : kernels) {
    std::vector<LibraryCode> made;
    for (; next < tasks.size() && &tasks[next].of == kernel; ++next) {
      // Of the codes for one target each may say the same.
      for (const Diagnostic &said : tasks[next].diagnostics.all())
        if (!llvm::is_contained(diagnostics.all(), said)) diagnostics.add(said);
      if (tasks[next].made) made.push_back(std::move(*tasks[next].made));
    }
    kernel->codes = neededOf(std::move(made));
    for (const LibraryCode &code : kernel->codes)
      if (code.gpu.spills) diagnostics.add(*code.gpu.spills);
  }
  return !diagnostics.hasErrors();
}

} // namespace imbrex::archive
