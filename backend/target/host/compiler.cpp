#include "backend/target/host/compiler.h"

#include "backend/lower/llvm_analyses.h"
#include "backend/support/check.h"
#include "backend/support/environment.h"
#include "backend/support/file_name.h"
#include "backend/support/lifetime.h"
#include "backend/target/host/scale_by_powers.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/PassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCSchedule.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

namespace imbrex::host {
namespace {

/// The few passes that pay: our code is already in the shape that we want, but keeps what it
/// carries in allocas and recomputes addresses.
void optimise(llvm::Module &module, llvm::TargetMachine &target, const HostMachine &machine) {
  llvm::PassBuilder builder(&target);
  lower::LlvmAnalyses analyses(builder);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  passes.addPass(llvm::EarlyCSEPass());
  for (llvm::Function &function : module)
    if (!function.isDeclaration()) passes.run(function, analyses.functions);
  if (machine.hasAvx512) scaleByPowers(module);
}

/// LLVM's passes, on x86 but for the machine combiner: in our code, whose floats nothing may
/// reorder, it reorders integers alone, so that sums of products of bytes need more registers than
/// there are.
class CodeGeneratorPasses final : public llvm::legacy::PassManager {
public:
  explicit CodeGeneratorPasses(bool isX86) : isX86_(isX86) {}

  void add(llvm::Pass *pass) override {
    if (isX86_ && pass->getPassID() == &llvm::MachineCombinerID)
      delete pass;
    else
      PassManager::add(pass);
  }

private:
  const bool isX86_;
};

std::unique_ptr<llvm::MemoryBuffer> generate(llvm::Module &module, llvm::TargetMachine &target,
                                             llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  CodeGeneratorPasses passes(target.getTargetTriple().isX86());
  const bool refused = target.addPassesToEmitFile(passes, stream, nullptr, type);
  IMBREX_CHECK(!refused, "this target cannot write object code");
  passes.run(module);
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), module.getName(), false);
}

/// NAME, NAME-2, …: where this module is dumped, one name per compilation.
std::filesystem::path dumpStem(const llvm::Module &module) {
  static std::mutex mutex;
  static auto &dumped = permanent(std::map<std::string, int>());
  const std::filesystem::path folder = environment().dump;
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  const std::lock_guard lock(mutex);
  const std::string name = fileNameFor(std::string_view(module.getName()));
  const int count = ++dumped[name];
  return folder / (name + (count == 1 ? "" : "-" + std::to_string(count)));
}

void dump(const llvm::Module &module, const std::filesystem::path &stem) {
  std::error_code error;
  llvm::raw_fd_ostream file(stem.string() + ".ll", error);
  if (!error) module.print(file, nullptr);
}

// Code generation consumes a module, so that the listing is made of a copy.
void dumpAssembly(const llvm::Module &module, llvm::TargetMachine &target,
                  const std::filesystem::path &stem) {
  const std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  std::error_code error;
  llvm::raw_fd_ostream file(stem.string() + ".s", error);
  if (!error) file << generate(*copy, target, llvm::CodeGenFileType::AssemblyFile)->getBuffer();
}

/// What the processor makes of an instruction, by LLVM's tables.
unsigned microOperations(const llvm::TargetMachine &target, llvm::StringRef instruction) {
  const llvm::MCInstrInfo &all = *target.getMCInstrInfo();
  unsigned opcode = 0;
  while (opcode < all.getNumOpcodes() && all.getName(opcode) != instruction) ++opcode;
  IMBREX_CHECK(opcode < all.getNumOpcodes(), "LLVM has no instruction {0}", instruction);
  const llvm::MCSchedModel &model = target.getMCSubtargetInfo()->getSchedModel();
  return model.getSchedClassDesc(all.get(opcode).getSchedClass())->NumMicroOps;
}

/// Whether two of bf16 at a time are worth it: whether they take no more than the two multiply-adds
/// of f32 for which they stand. On Sapphire Rapids and what follows they take four: half as fast.
bool multipliesPairsOfBf16(const llvm::TargetMachine &target) {
  return target.getMCSubtargetInfo()->checkFeatures("+avx512bf16") &&
         microOperations(target, "VDPBF16PSZr") <= 2;
}

} // namespace

HostMachine describe(const llvm::TargetMachine &target) {
  const llvm::MCSubtargetInfo &features = *target.getMCSubtargetInfo();
  const llvm::Triple &triple = target.getTargetTriple();
  const bool isX86 = triple.isX86();
  // AVX-512 as every CPU since Skylake-X has it: the byte and word forms, and short vectors.
  const bool avx512 = isX86 && features.checkFeatures("+avx512bw,+avx512vl,+avx512dq");
  // Second-level caches, by the vendors' optimisation guides: Neoverse N1 to V2 have 1 MiB; Zen to
  // Zen 3 512 KiB, older processors of Intel 256; Sapphire Rapids to Granite Rapids 2 MiB, others
  // with AVX-512 half of that. Of several the largest is taken.
  VectorUnit vectors{.bits = 128, .registers = 32, .secondLevelBytes = 1 << 20}; // NEON
  if (avx512)
    vectors = {.bits = 512, .registers = 32, .secondLevelBytes = 2 << 20, .dividesInHalves = true};
  else if (isX86)
    vectors = {.bits = features.checkFeatures("+avx2") ? 256 : 128,
               .registers = 16,
               .secondLevelBytes = 512 << 10};
  if (avx512 && features.checkFeatures("+avx512vnni"))
    vectors.ofBytes = WordProduct::UnsignedSigned;
  else if (isX86)
    vectors.ofBytes = WordProduct::Pairs;
  else if (triple.isAArch64() && features.checkFeatures("+dotprod"))
    vectors.ofBytes = WordProduct::Alike;
  vectors.hasMatrixBytes = triple.isAArch64() && features.checkFeatures("+i8mm");
  vectors.hasMatrixBf16 = triple.isAArch64() && features.checkFeatures("+bf16");
  if (avx512 && multipliesPairsOfBf16(target)) vectors.ofBf16 = WordProduct::Bf16;
  vectors.hasAmxBytes = avx512 && features.checkFeatures("+amx-tile,+amx-int8");
  vectors.hasAmxBf16 = avx512 && features.checkFeatures("+amx-tile,+amx-bf16");
  vectors.hasAmxF16 = avx512 && features.checkFeatures("+amx-tile,+amx-fp16");
  return {.vectors = vectors, .hasAvx512 = avx512, .name = "host-" + triple.getArchName().str()};
}

std::string portableCpu(const llvm::Triple &triple, const llvm::StringMap<bool> &features) {
  if (!triple.isX86()) return "generic";
  // System V ABI for x86-64, 3.1.1, "Micro-Architecture Levels": what level 3 adds to level 1.
  constexpr auto kLevel3 = std::to_array<llvm::StringLiteral>(
      {"cx16", "sahf", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3", "avx", "avx2", "bmi", "bmi2",
       "f16c", "fma", "lzcnt", "movbe", "xsave"});
  const auto isFound = [&](llvm::StringRef feature) { return features.lookup(feature); };
  return std::ranges::all_of(kLevel3, isFound) ? "x86-64-v3" : "x86-64";
}

Compiler::Compiler(std::unique_ptr<llvm::TargetMachine> target)
    : target_(std::move(target)), machine_(describe(*target_)) {}
Compiler::~Compiler() = default;

std::string Compiler::processor() const {
  return target_->getTargetTriple().str() + " " + target_->getTargetCPU().str() + " " +
         target_->getTargetFeatureString().str();
}

void Compiler::prepare(llvm::Module &module) const {
  module.setTargetTriple(target_->getTargetTriple());
  module.setDataLayout(target_->createDataLayout());
}

void Compiler::compileForTrial(llvm::Module &module) {
  const std::lock_guard lock(mutex_);
  target_->setOptLevel(llvm::CodeGenOptLevel::Default);
  generate(module, *target_, llvm::CodeGenFileType::ObjectFile);
}

std::unique_ptr<llvm::MemoryBuffer> Compiler::compile(llvm::Module &module,
                                                      llvm::CodeGenOptLevel effort) {
  const bool dumps = !environment().dump.empty();
  const std::filesystem::path stem = dumps ? dumpStem(module) : std::filesystem::path();
  std::string problems;
  llvm::raw_string_ostream problemStream(problems);
  if (dumps) dump(module, stem);
  const bool broken = llvm::verifyModule(module, &problemStream);
  IMBREX_CHECK(!broken, "the host target made invalid LLVM IR: {0}", problems);

  const std::lock_guard lock(mutex_);
  optimise(module, *target_, machine_);
  target_->setOptLevel(effort);
  if (dumps) dumpAssembly(module, *target_, stem);
  return generate(module, *target_, llvm::CodeGenFileType::ObjectFile);
}

} // namespace imbrex::host
