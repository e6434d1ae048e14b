#include "backend/target/amdgpu/uniform_pairs.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/CycleAnalysis.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Analysis/UniformityAnalysis.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PassInstrumentation.h"

#include <array>

namespace imbrex::target::amdgpu {
namespace {

using llvm::Instruction;
using llvm::Value;

bool isFma(const Instruction &op) {
  const auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&op);
  return call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::fma;
}

bool isPacked(const Instruction &op) {
  constexpr std::array kPacked{Instruction::FAdd, Instruction::FSub, Instruction::FMul};
  return op.getType()->isVectorTy() && op.getType()->getScalarType()->isFloatTy() &&
         (isFma(op) || llvm::is_contained(kPacked, op.getOpcode()));
}

/// Constants are put where the instruction can read them.
bool readsTwoUniform(const Instruction &op, const llvm::UniformityInfo &uniformity) {
  llvm::SmallPtrSet<const Value *, 3> uniform;
  for (const Value *operand : op.operand_values())
    if (!llvm::isa<llvm::Constant>(operand) && uniformity.isUniform(operand))
      uniform.insert(operand);
  return uniform.size() > 1;
}

void split(Instruction &op) {
  llvm::IRBuilder<> b(&op);
  Value *whole = llvm::PoisonValue::get(op.getType());
  const unsigned count = llvm::cast<llvm::FixedVectorType>(op.getType())->getNumElements();
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto lane = [&](unsigned operand) {
      return b.CreateExtractElement(op.getOperand(operand), i);
    };
    Value *const x = lane(0), *const y = lane(1);
    Value *const one =
        isFma(op) ? b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, lane(2)}, &op)
                  : b.CreateBinOpFMF(Instruction::BinaryOps(op.getOpcode()), x, y, &op);
    whole = b.CreateInsertElement(whole, one, i);
  }
  op.replaceAllUsesWith(whole);
  op.eraseFromParent();
}

} // namespace

void splitUniformPairs(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::FunctionAnalysisManager analyses;
  analyses.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
  analyses.registerPass([&] { return machine.getTargetIRAnalysis(); });
  analyses.registerPass([] { return llvm::DominatorTreeAnalysis(); });
  analyses.registerPass([] { return llvm::CycleAnalysis(); });
  analyses.registerPass([] { return llvm::UniformityInfoAnalysis(); });
  for (llvm::Function &function : module) {
    if (function.isDeclaration() ||
        !machine.getSubtargetImpl(function)->checkFeatures("+gfx940-insts"))
      continue;
    const auto &uniformity = analyses.getResult<llvm::UniformityInfoAnalysis>(function);
    llvm::SmallVector<Instruction *> found;
    for (Instruction &op : llvm::instructions(function))
      if (isPacked(op) && readsTwoUniform(op, uniformity)) found.push_back(&op);
    for (Instruction *op : found) split(*op);
  }
}

} // namespace imbrex::target::amdgpu
