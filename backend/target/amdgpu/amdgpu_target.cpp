#include "backend/target/amdgpu/amdgpu_target.h"

#include "backend/target/amdgpu/amdgpu_vocabulary.h"
#include "backend/target/amdgpu/assembler.h"
#include "backend/target/amdgpu/carried_vectors.h"
#include "backend/target/amdgpu/code.h"
#include "backend/target/amdgpu/gcn_accesses.h"
#include "backend/target/amdgpu/gcn_mix.h"
#include "backend/target/amdgpu/gcn_rings.h"
#include "backend/target/amdgpu/lds_loads.h"
#include "backend/target/amdgpu/linker.h"
#include "backend/target/amdgpu/meetings.h"
#include "backend/target/amdgpu/resources.h"
#include "backend/target/amdgpu/spills.h"
#include "backend/target/codegen/code_generator.h"
#include "backend/target/codegen/optimiser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
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

/// What a machine with packed instructions computes two at once.
bool hasPackedForm(const llvm::Instruction &instruction) {
  const llvm::Type *type = instruction.getType();
  if (!type->isFloatTy() && !type->isHalfTy()) return false;
  if (const auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
    const auto id = call->getIntrinsicID();
    return type->isHalfTy() || id == llvm::Intrinsic::fma || id == llvm::Intrinsic::fmuladd;
  }
  return llvm::isa<llvm::BinaryOperator>(instruction) &&
         instruction.getOpcode() != llvm::Instruction::FDiv;
}

/// Whether there is something to make pairs of. In long code without it, as of a sort that compares
/// and chooses or a product on matrix units, the vectoriser takes long to find none, up to seconds:
/// its time is no linear one. A few, as of what attention does once for each row, are not worth it.
bool computesFloats(const llvm::Module &module) {
  constexpr std::ptrdiff_t kFew = 48;
  return llvm::any_of(module, [](const llvm::Function &function) {
    return llvm::count_if(llvm::instructions(function), hasPackedForm) >= kFew;
  });
}

/// MFMA, not WMMA: a thread of RDNA has half the registers, and a product of weights spilled 38
/// more of them where sums were carried as vectors.
bool isMfma(const llvm::Instruction &instruction) {
  const auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call && call->getCalledFunction()->getName().starts_with("llvm.amdgcn.mfma.");
}

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

  // Elementwise ops, sums and quotients come in pairs already; products by multiply-adds and the
  // elementary functions do not.
  // LLVM's combiner of vectors (`vector-combine`) would save a few of 150 to 330 instructions,
  // and loads bytes nobody asked for, which the emulator must then take for reads of the kernel's.
  void optimise(llvm::Module &module) const override {
    const llvm::StringRef last = vocabulary_.hasFloatPairs() && computesFloats(module)
                                     ? "slp-vectorizer,instcombine<no-verify-fixpoint>"
                                     : "";
    carryVectors(module, isMfma);
    target::optimise(module, targetMachine(), {.last = last});
  }

  Result<std::string> assembly(llvm::Module &module) const override {
    return generateCode(module, targetMachine(), llvm::CodeGenFileType::AssemblyFile);
  }

  Result<ObjectCode> objectOf(const std::string &text) const override {
    const auto bytes = assemble(text, targetMachine());
    if (!bytes) return bytes.failure();
    return link({bytes->data(), bytes->size()}, machine());
  }

  Resources resources(const ObjectCode &object) const override {
    return resourcesOf(object.image).value_or(Resources{});
  }
  Resources resourcesIn(llvm::StringRef assembly) const override {
    return amdgpu::resourcesIn(assembly).value_or(Resources{});
  }
  Location spilledAt(llvm::StringRef assembly, const ObjectCode & /*object*/) const override {
    return spillsIn(assembly).most();
  }
  bool assemblesByItself() const override { return true; }
  std::optional<std::string> assemblerName() const override { return "LLVM's and lld"; }
  InstructionMix instructions(llvm::StringRef assembly) const override {
    return mixOfAssembly(assembly);
  }
  MeetingKind meetingAt(const llvm::Instruction &instruction) const override {
    return amdgpu::meetingAt(instruction);
  }
  CodeGraph ringsOf(llvm::StringRef assembly) const override { return ringsOfAssembly(assembly); }
  std::optional<OrderedAccess> accessAt(const llvm::Instruction &instruction) const override;
  std::vector<FoundAccess> accessesOf(llvm::StringRef assembly) const override {
    return accessesOfAssembly(assembly, vocabulary_.isa());
  }

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

/// Whether a block is one wave, in which nothing is to be ordered and nobody to be met: LLVM then
/// writes nothing of what is for the block alone.
bool isOneWave(const llvm::Function &function, std::int32_t lanes) {
  std::int32_t threads = 0;
  const llvm::StringRef counts =
      function.getFnAttribute("amdgpu-flat-work-group-size").getValueAsString();
  return !counts.split(',').second.getAsInteger(10, threads) && threads <= lanes;
}

MemoryScope beyondBlock(MemoryScope scope) {
  return scope == MemoryScope::Block ? MemoryScope::None : scope;
}

// A fence stands at a meeting, which asks for the order of both (meetings.h).
std::optional<OrderedAccess> AmdgpuTarget::accessAt(const llvm::Instruction &instruction) const {
  if (llvm::isa<llvm::FenceInst>(instruction)) return std::nullopt;
  auto access = accessOf(instruction);
  if (amdgpu::meetingAt(instruction) == MeetingKind::Orders) {
    // What is done to LDS alone is compared where loads fly there (ring_order.h).
    const MemoryScope scope =
        meetsForLdsAlone(instruction) ? MemoryScope::None : MemoryScope::Block;
    access = OrderedAccess{.kind = AccessKind::Meeting, .acquires = scope, .releases = scope};
  }
  if (!access || !isOneWave(*instruction.getFunction(), machine().warpSize)) return access;
  if (access->kind == AccessKind::Meeting) return std::nullopt;
  access->scope = beyondBlock(access->scope);
  access->acquires = beyondBlock(access->acquires);
  access->releases = beyondBlock(access->releases);
  return access;
}

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
