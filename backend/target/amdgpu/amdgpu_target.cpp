#include "backend/target/amdgpu/amdgpu_target.h"

#include "backend/target/amdgpu/amdgpu_vocabulary.h"
#include "backend/target/amdgpu/assembler.h"
#include "backend/target/amdgpu/gcn_mix.h"
#include "backend/target/amdgpu/gcn_rings.h"
#include "backend/target/amdgpu/lds_loads.h"
#include "backend/target/amdgpu/linker.h"
#include "backend/target/amdgpu/meetings.h"
#include "backend/target/amdgpu/resources.h"
#include "backend/target/codegen/code_generator.h"
#include "backend/target/codegen/optimiser.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Support/TargetSelect.h"

namespace imbrex::target::amdgpu {
namespace {

constexpr llvm::StringRef kTriple = "amdgcn-amd-amdhsa";
// Five is the first with the counts of blocks among the hidden arguments, six the first for generic
// targets (LLVM, AMDGPUUsage, "Code Object").
constexpr std::uint32_t kCodeObjectVersion = 500;
constexpr std::uint32_t kGenericCodeObjectVersion = 600;

class AmdgpuTarget final : public GpuTarget {
public:
  explicit AmdgpuTarget(const machine::Machine &machine) : vocabulary_(machine) {}
  llvm::StringRef assemblyClasses() const override { return "vsa"; }
  const lower::Vocabulary &vocabulary() const override { return vocabulary_; }

  void prepare(llvm::Module &module) const override {
    module.setTargetTriple(llvm::Triple(kTriple));
    module.setDataLayout(targetMachine().createDataLayout());
    const bool isGeneric = machine().name.ends_with("-generic");
    module.addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version",
                         isGeneric ? kGenericCodeObjectVersion : kCodeObjectVersion);
  }

  // CDNA has instructions on pairs of floats.
  void optimise(llvm::Module &module) const override {
    const bool hasPairs = targetMachine().getMCSubtargetInfo()->checkFeatures("+packed-fp32-ops");
    const llvm::StringRef last =
        hasPairs ? "slp-vectorizer,vector-combine,instcombine<no-verify-fixpoint>" : "";
    target::optimise(module, targetMachine(), {.last = last});
  }

  Result<std::string> assembly(llvm::Module &module) const override {
    prepareLoadsToLds(module);
    const auto text = generate(module, targetMachine(), llvm::CodeGenFileType::AssemblyFile);
    if (!text) return text.failure();
    return std::string(text->begin(), text->end());
  }

  Result<ObjectCode> objectOf(const std::string &text) const override {
    const auto bytes = assemble(text, targetMachine());
    if (!bytes) return bytes.failure();
    return link({bytes->data(), bytes->size()}, machine());
  }

  Resources resources(const ObjectCode &object) const override {
    return resourcesOf(object.image).value_or(Resources{});
  }
  InstructionMix instructions(llvm::StringRef assembly) const override {
    return mixOfAssembly(assembly);
  }
  Meeting meetingAt(const llvm::Instruction &instruction) const override {
    return amdgpu::meetingAt(instruction);
  }
  CodeGraph ringsOf(llvm::StringRef assembly) const override { return ringsOfAssembly(assembly); }

private:
  llvm::TargetMachine &targetMachine() const {
    llvm::TargetMachine &made = targetMachineOf(machine(), kTriple);
    made.Options.MCOptions.AsmVerbose = true; // LLVM's remarks on registers and occupancy
    // The author's instructions are read where text is written, too, and what is wrong with one is
    // told of its line. LLVM has this for a machine to set, but no option.
    const_cast<llvm::MCAsmInfo *>(made.getMCAsmInfo())->setParseInlineAsmUsingAsmParser(true);
    return made;
  }

  AmdgpuVocabulary vocabulary_;
};

} // namespace

std::unique_ptr<GpuTarget> makeTarget(const machine::Machine &machine) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTarget();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmPrinter();
  LLVMInitializeAMDGPUAsmParser();
  return std::make_unique<AmdgpuTarget>(machine);
}

} // namespace imbrex::target::amdgpu
