#include "backend/emulate/emulate.h"

#include "backend/emulate/model/tensor_map.h"
#include "backend/emulate/rewrite/rewrite.h"
#include "backend/emulate/rewrite/rewrite_floats.h"
#include "backend/emulate/run/grid_run.h"
#include "backend/lower/observations.h"
#include "backend/support/check.h"
#include "backend/target/host/run/jit.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/LLVMContext.h"

#include <algorithm>
#include <cstdio>
#include <deque>

namespace imbrex::emulate {

struct EmulatedProgram::Implementation {
  Code code;
  lower::KernelInterface interface;
  std::vector<std::string> names; ///< Of the LLVM parameters.
  std::unique_ptr<host::LoadedCode> loaded;
  std::vector<GlobalRegion> constants; ///< That came with the code.
};

EmulatedProgram::EmulatedProgram() : implementation_(std::make_unique<Implementation>()) {}
EmulatedProgram::~EmulatedProgram() = default;

namespace {

/// A copy in a context of its own, so that programs can be compiled in parallel.
std::unique_ptr<llvm::Module> copyInto(llvm::LLVMContext &context, const llvm::Module &module) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::WriteBitcodeToFile(module, stream);
  auto copy = llvm::parseBitcodeFile(
      llvm::MemoryBufferRef({bytes.data(), bytes.size()}, module.getName()), context);
  IMBREX_CHECK(!!copy, "a module does not survive as bitcode: {0}",
               llvm::toString(copy.takeError()));
  return std::move(*copy);
}

/// What is said of functions for the GPU's code generator, and what LLVM promised itself about
/// memory, does not hold for what they become.
void forgetTarget(llvm::Module &module) {
  for (llvm::Function &function : module) {
    if (function.isIntrinsic()) continue;
    function.setCallingConv(llvm::CallingConv::C);
    function.setAttributes({});
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : block) {
        if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction))
          if (call->getCalledFunction() != nullptr && !call->getCalledFunction()->isIntrinsic()) {
            call->setCallingConv(llvm::CallingConv::C);
            call->setAttributes({});
          }
        instruction.dropUnknownNonDebugMetadata();
      }
  }
}

/// Adds up the frames of all functions that code is generated for.
class FrameSizes final : public llvm::DiagnosticHandler {
public:
  explicit FrameSizes(std::size_t &bytes) : bytes_(bytes) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    const auto *frame = llvm::dyn_cast<llvm::DiagnosticInfoStackSize>(&info);
    if (frame == nullptr) return false;
    bytes_ += frame->getResourceSize();
    return true;
  }

private:
  std::size_t &bytes_;
};

/// Most of the time goes into what the code calls at each access, so that what is compiled soonest
/// is done soonest; but its frames are large, and a thread has a stack that holds them all.
std::unique_ptr<host::LoadedCode> compileSoon(std::unique_ptr<llvm::Module> module,
                                              std::size_t &frameBytes) {
  for (llvm::Function &function : *module)
    if (!function.isDeclaration()) function.addFnAttr("warn-stack-size", "0");
  module->getContext().setDiagnosticHandler(std::make_unique<FrameSizes>(frameBytes));
  return host::load(host::portableCompiler().compile(*module, llvm::CodeGenOptLevel::None));
}

std::vector<std::string> parameterNames(const llvm::Function &kernel) {
  std::vector<std::string> names;
  for (const llvm::Argument &argument : kernel.args())
    names.push_back(argument.hasName() ? "'" + argument.getName().str() + "'"
                                       : "argument " + std::to_string(argument.getArgNo()));
  return names;
}

/// Rewrites the module, and gives the entry's name; empty where something has no model.
std::string rewrite(Rewriting &rewriting, Code &code, std::uint64_t bytesAtLaunch) {
  const std::size_t errorsBefore = rewriting.diagnostics.all().size();
  const std::vector<BlockMix> mixes = mixesOf(rewriting.module);
  for (const BlockMix &mix : mixes) code.mixes.push_back(mix.counts);
  expandMemoryCalls(rewriting);
  rewriteCalls(rewriting);
  rewriteMemory(rewriting);
  rewriteWordCalls(rewriting);
  markControl(rewriting);
  if (rewriting.diagnostics.all().size() != errorsBefore) return {};
  countBlocks(mixes);
  code.sharedBytes = std::max(code.sharedBytes, placeShared(rewriting, bytesAtLaunch));
  llvm::StripDebugInfo(rewriting.module);
  forgetTarget(rewriting.module);
  host::portableCompiler().prepare(rewriting.module);
  rewriteFloats(rewriting.module);
  return addEntry(rewriting);
}

} // namespace

std::unique_ptr<EmulatedProgram> EmulatedProgram::compile(const llvm::Module &module,
                                                          const machine::Machine &machine,
                                                          const lower::KernelInterface &interface,
                                                          Diagnostics &diagnostics) {
  std::unique_ptr<EmulatedProgram> program(new EmulatedProgram);
  Implementation &implementation = *program->implementation_;
  Code &code = implementation.code;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> copy = copyInto(context, module);
  llvm::Function *kernel = copy->getFunction(interface.name);
  IMBREX_CHECK(kernel != nullptr && kernel->arg_size() == interface.words.size(),
               "the module has no kernel '{0}' with so many words", interface.name);
  code.warpSize = static_cast<std::uint32_t>(machine.warpSize);
  code.threads = static_cast<std::uint32_t>(interface.threads);
  code.sharedBytes = static_cast<std::uint64_t>(interface.sharedMemoryBytes);
  code.lanesMeetAlways = machine.family == machine::Family::Amdgpu;
  code.warpsMeetAnywhere = kernel->hasFnAttribute(lower::kMeetsAnywhere);
  code.banks = static_cast<std::uint32_t>(machine.banks);
  implementation.interface = interface;
  implementation.names = parameterNames(*kernel);
  Rewriting rewriting{*copy, machine, *kernel, code.sites, diagnostics};
  const auto bytesAtLaunch = static_cast<std::uint64_t>(interface.bytesAtLaunch);
  const std::vector<NamedConstant> constants = nameConstants(rewriting);
  const std::string entry = rewrite(rewriting, code, bytesAtLaunch);
  if (entry.empty()) return nullptr;
  implementation.loaded = compileSoon(std::move(copy), code.frameBytes);
  code.entry = reinterpret_cast<Code::Entry>(implementation.loaded->address(entry));
  for (const NamedConstant &constant : constants)
    implementation.constants.push_back(
        {.name = "the constant '" + constant.name + "'",
         .begin = reinterpret_cast<std::uintptr_t>(implementation.loaded->address(constant.name)),
         .bytes = constant.bytes,
         .isConstant = true});
  return program;
}

// --- a launch ---

namespace {

void addRegion(EmulatedLaunch &launch, const std::string &name, std::size_t parameter,
               const ir::Argument &argument) {
  launch.regions.push_back({.name = name,
                            .begin = reinterpret_cast<std::uintptr_t>(argument.data),
                            .bytes = argument.bytes,
                            .unwritten = argument.unwritten,
                            .parameter = static_cast<std::int32_t>(parameter)});
}

void addObservations(EmulatedLaunch &launch, std::size_t parameter,
                     llvm::ArrayRef<std::uint64_t> words) {
  const auto begin = reinterpret_cast<std::uintptr_t>(words.data());
  launch.arguments.push_back(begin);
  launch.regions.push_back({.name = "the record of prints",
                            .begin = begin,
                            .bytes = static_cast<std::int64_t>(words.size() * 8),
                            .parameter = static_cast<std::int32_t>(parameter)});
}

/// `'x'` becomes `'x[3]'`.
std::string numbered(std::string name, std::size_t number) {
  name.insert(name.size() - (name.ends_with('\'') ? 1 : 0), "[" + std::to_string(number) + "]");
  return name;
}

/// A table's addresses, marked where there are marks left, and the region of each.
class MarkedTables {
public:
  void add(EmulatedLaunch &launch, const std::string &name, std::size_t parameter,
           const ir::Argument &table) {
    std::vector<std::uint64_t> &addresses = tables_.emplace_back();
    const auto addPointer = [&](const std::string &target, const ir::Argument &pointee) {
      const auto mark = static_cast<std::uint16_t>(std::min(next_++, kNoMark) % kNoMark);
      const auto begin = reinterpret_cast<std::uintptr_t>(pointee.data);
      addresses.push_back(marked(begin, mark));
      launch.regions.push_back({.name = target,
                                .begin = begin,
                                .bytes = pointee.bytes,
                                .unwritten = pointee.unwritten,
                                .mark = mark});
    };
    for (const auto &[number, pointee] : llvm::enumerate(table.pointees))
      addPointer(numbered(name, number), pointee);
    addPointer("an array of " + name, {.bytes = 0});
    const auto begin = reinterpret_cast<std::uintptr_t>(addresses.data());
    launch.arguments.push_back(begin);
    launch.regions.push_back({.name = "the table " + name,
                              .begin = begin,
                              .bytes = static_cast<std::int64_t>(addresses.size() * 8),
                              .parameter = static_cast<std::int32_t>(parameter),
                              .isConstant = true});
  }

private:
  static constexpr std::uint32_t kNoMark = 0x10000;
  std::uint32_t next_ = 1;
  std::deque<std::vector<std::uint64_t>> tables_; // whose addresses the kernel is given
};

template <class T>
void addConstant(EmulatedLaunch &launch, const std::string &name, const T &value) {
  launch.regions.push_back({.name = name,
                            .begin = reinterpret_cast<std::uintptr_t>(&value),
                            .bytes = sizeof(T),
                            .isConstant = true});
}

void addMap(EmulatedLaunch &launch, const std::string &name, const TensorMap &map) {
  launch.arguments.push_back(reinterpret_cast<std::uintptr_t>(&map));
  addConstant(launch, "the map of " + name, map);
}

/// AMD's ways to ask for the launch.
void describeLaunch(EmulatedLaunch &launch, std::uint32_t threads) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto blocks = static_cast<std::uint32_t>(launch.grid.extents[axis]);
    const auto size = static_cast<std::uint16_t>(axis == 0 ? threads : 1);
    launch.implicit.blockCount[axis] = blocks;
    launch.implicit.groupSize[axis] = launch.packet.groupSize[axis] = size;
    launch.packet.gridSize[axis] = blocks * size;
  }
  addConstant(launch, "the implicit arguments", launch.implicit);
  addConstant(launch, "the dispatch packet", launch.packet);
}

bool hasFailedAssert(llvm::ArrayRef<std::uint64_t> observations) {
  return !observations.empty() && observations[lower::observations::kFailedSite] != 0;
}

/// A block that a failed assert has ended has no use for what it had started.
bool report(const Diagnostics &found, bool isStopped, Diagnostics &diagnostics) {
  bool ok = true;
  for (const Diagnostic &one : found.all()) {
    if (isStopped && one.kind == Diag::EmulatedNeverAwaited) continue;
    ok &= info(one.kind).severity != Severity::Error;
    diagnostics.add(one);
  }
  return ok;
}

} // namespace

std::int32_t EmulatedProgram::threads() const {
  return static_cast<std::int32_t>(implementation_->code.threads);
}

bool EmulatedProgram::run(const ir::Grid &grid, llvm::ArrayRef<ir::Argument> arguments,
                          const EmulatorOptions &options, Diagnostics &diagnostics) const {
  const Implementation &program = *implementation_;
  EmulatedLaunch launch;
  launch.grid = grid;
  launch.options = options;
  std::vector<std::uint64_t> observations;
  llvm::ArrayRef<std::uint64_t> told; // these, or the caller's
  std::deque<TensorMap> maps;         // whose addresses the kernel is given
  MarkedTables tables;
  for (std::size_t i = 0; i < program.interface.words.size(); ++i) {
    const lower::Word &word = program.interface.words[i];
    if (word.kind == lower::WordKind::Observations) {
      told = options.observations;
      if (told.empty())
        told = observations = lower::observations::emptyBuffer(lower::observations::kUsualRoom);
      addObservations(launch, i, told);
      continue;
    }
    if (word.kind == lower::WordKind::BoxMap) {
      const auto &boxes = program.interface.maps[static_cast<std::size_t>(word.axis)];
      addMap(launch, program.names[i],
             maps.emplace_back(mapOf(boxes, arguments[static_cast<std::size_t>(word.parameter)],
                                     boxes.box.size())));
      continue;
    }
    if (word.kind == lower::WordKind::Table) {
      tables.add(launch, program.names[i], i, arguments[static_cast<std::size_t>(word.parameter)]);
      continue;
    }
    launch.arguments.push_back(lower::wordOf(word, arguments));
    if (word.kind == lower::WordKind::Pointer)
      addRegion(launch, program.names[i], i, arguments[static_cast<std::size_t>(word.parameter)]);
  }
  launch.regions.insert(launch.regions.end(), program.constants.begin(), program.constants.end());
  describeLaunch(launch, program.code.threads);
  Diagnostics found;
  GridRun(program.code, launch, found).execute();
  const bool ok = report(found, hasFailedAssert(told), diagnostics);
  if (observations.empty()) return ok;
  return lower::observations::tell(observations, program.interface, stdout, diagnostics) && ok;
}

} // namespace imbrex::emulate
