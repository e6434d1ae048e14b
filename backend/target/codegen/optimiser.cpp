#include "backend/target/codegen/optimiser.h"

#include "backend/lower/llvm_analyses.h"
#include "backend/support/check.h"
#include "backend/target/codegen/code_generator.h"
#include "backend/target/codegen/sink.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/CorrelatedValuePropagation.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/IndVarSimplify.h"
#include "llvm/Transforms/Scalar/InferAlignment.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/Reassociate.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/Mem2Reg.h"

#include <array>

namespace imbrex::target {
namespace {

using Passes = llvm::FunctionPassManager;

// One round: what it leaves over, a later one finds.
void combine(Passes &passes) {
  passes.addPass(llvm::InstCombinePass(llvm::InstCombineOptions().setVerifyFixpoint(false)));
}

void rotate(Passes &passes) {
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LoopRotatePass()));
}

void unroll(Passes &passes) {
  constexpr int kLevel = 3;
  llvm::LoopPassManager loops;
  loops.addPass(llvm::IndVarSimplifyPass());
  loops.addPass(llvm::LoopFullUnrollPass(kLevel));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops)));
}

void moveOutOfLoops(Passes &passes) {
  llvm::LoopPassManager loops;
  loops.addPass(llvm::LICMPass(llvm::LICMOptions()));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops), /*UseMemorySSA=*/true));
}

void shareBetweenBranches(Passes &passes) {
  passes.addPass(llvm::SimplifyCFGPass(
      llvm::SimplifyCFGOptions().hoistCommonInsts(true).sinkCommonInsts(true)));
}

struct PassRun {
  void (*add)(Passes &passes);
  std::string_view reason;
};

/// What our code has something for, in order. It is one function, in SSA but for the cursors of
/// rings, without calls, exceptions or structs, so that most of -O3 looks for what is not there.
constexpr auto kSteps = std::to_array<PassRun>({
    {[](Passes &p) { p.addPass(llvm::PromotePass()); },
     "the cursors of rings; left in memory, AMD's would go to LDS, and whoever asks for one would "
     "wait for the loads that fly there"},
    {[](Passes &p) { p.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true)); },
     "registers of one tile compute the same addresses and masks"},
    {combine,
     "index arithmetic by bits, masks of comparisons; before branches are looked at, which "
     "it decides: two stores that are merged have no line"},
    {[](Passes &p) { p.addPass(llvm::SimplifyCFGPass()); },
     "conditions that are known, and blocks that follow each other"},
    {[](Passes &p) { p.addPass(llvm::ReassociatePass()); },
     "an address's constant part comes last, and into the instruction"},
    {rotate,
     "loops are entered below their condition, so that code may be moved there; to do that here "
     "already keeps addresses in registers that an access has room for"},
    {[](Passes &p) { p.addPass(llvm::SimplifyCFGPass()); }, "what rotation leaves"},
    {unroll, "loops of few trips over slabs and parts"},
    {[](Passes &p) { p.addPass(llvm::GVNPass(llvm::GVNOptions().setPRE(false))); },
     "elements that several trips or blocks load from one place; what only some ways "
     "load already is not worth looking for"},
    {combine, "the same in the loops' new form, and what unrolled trips have in common"},
    {[](Passes &p) { p.addPass(llvm::CorrelatedValuePropagationPass()); },
     "numbers that are known not to be negative widen for nothing; branches decided before"},
    {[](Passes &p) { p.addPass(llvm::ADCEPass()); }, "what nothing asks for any more"},
    {moveOutOfLoops, "what no trip changes: rows' addresses, masks of tiles"},
    {shareBetweenBranches, "masked accesses of one mask, and what both sides of a branch do"},
    {[](Passes &p) { p.addPass(llvm::InferAlignmentPass()); },
     "accesses to shared memory whose neighbours the code generator makes one wider access of"},
});

void add(llvm::PassBuilder &builder, Passes &passes, llvm::StringRef names) {
  if (names.empty()) return;
  Passes own;
  llvm::cantFail(builder.parsePassPipeline(own, names));
  passes.addPass(std::move(own));
}

} // namespace

void optimise(llvm::Module &module, llvm::TargetMachine &machine, const TargetPasses &own) {
  const std::shared_lock lock(llvmOptions());
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  const bool broken = llvm::verifyModule(module, &stream);
  IMBREX_CHECK(!broken, "lowering made invalid LLVM IR: {0}", problem);
  llvm::PassBuilder builder(&machine);
  lower::LlvmAnalyses analyses(builder);
  Passes passes;
  add(builder, passes, own.first);
  for (const PassRun &step : kSteps) step.add(passes);
  add(builder, passes, own.last);
  for (llvm::Function &function : module)
    if (!function.isDeclaration()) passes.run(function, analyses.functions);
  for (llvm::Function &function : module)
    if (!function.isDeclaration()) sinkLightly(function);
}

} // namespace imbrex::target
