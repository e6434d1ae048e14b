#include "backend/target/nvptx/nvptx_target.h"

#include "backend/target/codegen/code_generator.h"
#include "backend/target/codegen/optimiser.h"
#include "backend/target/codegen/sink.h"
#include "backend/target/nvptx/assembler.h"
#include "backend/target/nvptx/atomics.h"
#include "backend/target/nvptx/loop_pointers.h"
#include "backend/target/nvptx/nvptx_vocabulary.h"
#include "backend/target/nvptx/ptx_accesses.h"
#include "backend/target/nvptx/ptx_mix.h"
#include "backend/target/nvptx/ptx_rings.h"
#include "backend/target/nvptx/ptx_version.h"
#include "backend/target/nvptx/resources.h"
#include "backend/target/nvptx/shifts.h"
#include "backend/target/nvptx/spills.h"
#include "backend/target/nvptx/toolkit.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Support/TargetSelect.h"

namespace imbrex::target::nvptx {
namespace {

constexpr llvm::StringRef kTriple = "nvptx64-nvidia-cuda";

/// These look for sums that share a part; the optimiser has found them, and NVIDIA's assembler
/// orders what is left anew.
constexpr llvm::StringLiteral kLeftOut[] = {"slsr", "nary-reassociate"};
constexpr ReplacingPass kReplaced[] = {{.name = "codegenprepare", .run = computeWhereUsed}};

/// Source lines as `.loc` alone. Any other kind of debug information makes PTX of `.target …,
/// debug`, which NVIDIA's assembler does not optimise.
void keepLinesOnly(llvm::Module &module) {
  if (llvm::NamedMDNode *units = module.getNamedMetadata("llvm.dbg.cu")) units->eraseFromParent();
  for (llvm::Function &function : module) {
    llvm::DISubprogram *program = function.getSubprogram();
    if (program == nullptr) continue;
    const llvm::DICompileUnit &unit = *program->getUnit();
    llvm::DIBuilder builder(module);
    program->replaceUnit(builder.createCompileUnit(unit.getSourceLanguage(), unit.getFile(),
                                                   unit.getProducer(), true, "", 0, "",
                                                   llvm::DICompileUnit::DebugDirectivesOnly));
  }
}

class NvptxTarget final : public GpuTarget {
public:
  explicit NvptxTarget(const machine::Machine &machine) : vocabulary_(machine) {}
  llvm::StringRef assemblyClasses() const override { return "hrlfdq"; }
  const lower::Vocabulary &vocabulary() const override { return vocabulary_; }

  void prepare(llvm::Module &module) const override {
    module.setTargetTriple(llvm::Triple(kTriple));
    module.setDataLayout(targetMachine().createDataLayout());
  }

  void optimise(llvm::Module &module) const override {
    keepLinesOnly(module);
    // How many threads a block has, so that a thread's index need not be thought negative.
    target::optimise(module, targetMachineFor(module), {.first = "nvvm-intr-range"});
  }

  Result<std::string> assembly(llvm::Module &module) const override {
    prepareAtomics(module, machine());
    prepareShifts(module);
    keepLoopPointers(module);
    return generate(module, targetMachineFor(module), llvm::CodeGenFileType::AssemblyFile,
                    {.leftOut = kLeftOut, .replaced = kReplaced});
  }

  Result<ObjectCode> objectOf(const std::string &text) const override {
    return assemble(text, machine());
  }

  Resources resources(const ObjectCode &object) const override {
    return resourcesOf(object.remarks).value_or(Resources{});
  }
  Location spilledAt(llvm::StringRef /*assembly*/, const ObjectCode &object) const override {
    return spillsIn(object.image).most();
  }
  // Seen of ptxas, in kernels that ask for no number of them.
  bool leavesRegisters() const override { return true; }
  bool assemblesByItself() const override { return false; }
  std::optional<std::string> assemblerName() const override {
    const std::string program = findTool("ptxas");
    if (program.empty()) return std::nullopt;
    return nameOfVersion(program);
  }
  InstructionMix instructions(llvm::StringRef assembly) const override {
    return mixOfPtx(assembly);
  }
  // bar.sync orders the memory accesses of the threads that take part (PTX ISA, barrier).
  MeetingKind meetingAt(const llvm::Instruction &instruction) const override {
    const auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    const auto intrinsic = call ? call->getIntrinsicID() : llvm::Intrinsic::not_intrinsic;
    const bool meets = intrinsic == llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all ||
                       intrinsic == llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_count;
    return meets ? MeetingKind::Orders : MeetingKind::None;
  }
  CodeGraph ringsOf(llvm::StringRef assembly) const override { return ringsOfPtx(assembly); }
  std::optional<OrderedAccess> accessAt(const llvm::Instruction &instruction) const override {
    const auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call && call->getIntrinsicID() == llvm::Intrinsic::nvvm_griddepcontrol_wait)
      return kLaunchAwaited;
    if (meetingAt(instruction) == MeetingKind::None) return accessOf(instruction);
    return OrderedAccess{.kind = AccessKind::Meeting,
                         .acquires = MemoryScope::Block,
                         .releases = MemoryScope::Block};
  }
  std::vector<FoundAccess> accessesOf(llvm::StringRef assembly) const override {
    return accessesOfPtx(assembly);
  }
  llvm::StringRef touchedBeforeWait(llvm::StringRef assembly) const override {
    return nvptx::touchedBeforeWait(assembly);
  }

private:
  llvm::TargetMachine &targetMachine() const { return targetMachineOf(machine(), kTriple); }

  /// With the version of PTX that the module's instructions want, where the machine's own is older.
  llvm::TargetMachine &targetMachineFor(const llvm::Module &module) const {
    const std::string features = ptxFeature(machine(), module);
    if (features == machine().features) return targetMachine();
    machine::Machine newer = machine();
    const std::string name = std::string(newer.name) + features;
    newer.name = name;
    newer.features = features;
    return targetMachineOf(newer, kTriple);
  }

  NvptxVocabulary vocabulary_;
};

} // namespace

std::unique_ptr<GpuTarget> makeTarget(const machine::Machine &machine) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  return std::make_unique<NvptxTarget>(machine);
}

} // namespace imbrex::target::nvptx
