#include "backend/emulate/rewrite/rewrite.h"
#include "backend/emulate/rewrite/rewrite_calls.h"
#include "backend/emulate/run/calls.h"
#include "backend/support/lifetime.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace imbrex::emulate {
namespace {

using llvm::Instruction;

InstructionKind kindOfAccess(const llvm::Type *pointer, bool isStore) {
  switch (pointer->getPointerAddressSpace()) {
  case 1: return isStore ? InstructionKind::GlobalStore : InstructionKind::GlobalLoad;
  case 3: return isStore ? InstructionKind::SharedStore : InstructionKind::SharedLoad;
  default: return InstructionKind::OtherMemory;
  }
}

KindsOfCalls kindsOfPlainCalls() {
  return {
#define IMBREX_MEETING_CALL(intrinsic, ...) {llvm::Intrinsic::intrinsic, InstructionKind::Barrier},
#define IMBREX_FENCE_CALL(intrinsic, ...) {llvm::Intrinsic::intrinsic, InstructionKind::Fence},
#include "backend/emulate/rewrite/machine_calls.def"
#define IMBREX_WARP_CALL(intrinsic, ...) {llvm::Intrinsic::intrinsic, InstructionKind::Warp},
#include "backend/emulate/rewrite/warp_calls.def"
#define IMBREX_MATH_CALL(intrinsic, ...) {llvm::Intrinsic::intrinsic, InstructionKind::Special},
#include "backend/emulate/rewrite/math_calls.def"
  };
}

const KindsOfCalls &kindsOfCalls() {
  static const auto &kinds = permanent([] {
    KindsOfCalls all = kindsOfPlainCalls();
    all.merge(matrixKinds());
    all.merge(bufferKinds());
    return all;
  }());
  return kinds;
}

/// None for what is no instruction of a machine.
std::optional<InstructionKind> kindOfCall(const llvm::CallInst &call) {
  const auto *intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call);
  if (intrinsic == nullptr) return InstructionKind::Other;
  if (intrinsic->isAssumeLikeIntrinsic()) return std::nullopt;
  const auto found = kindsOfCalls().find(intrinsic->getIntrinsicID());
  if (found != kindsOfCalls().end()) return found->second;
  if (call.getType()->isFPOrFPVectorTy()) return InstructionKind::Float;
  return call.getType()->isIntOrIntVectorTy() ? InstructionKind::Integer : InstructionKind::Other;
}

std::optional<InstructionKind> kindOf(const Instruction &instruction) {
  if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
    return load->isAtomic() ? InstructionKind::Atomic
                            : kindOfAccess(load->getPointerOperandType(), false);
  if (auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
    return store->isAtomic() ? InstructionKind::Atomic
                             : kindOfAccess(store->getPointerOperandType(), true);
  if (instruction.isAtomic())
    return llvm::isa<llvm::FenceInst>(instruction) ? InstructionKind::Fence
                                                   : InstructionKind::Atomic;
  if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction)) return kindOfCall(*call);
  if (llvm::isa<llvm::PHINode>(instruction)) return std::nullopt;
  if (llvm::isa<llvm::GetElementPtrInst>(instruction)) return InstructionKind::Address;
  if (instruction.isTerminator()) return InstructionKind::Branch;
  if (llvm::isa<llvm::CmpInst>(instruction) || llvm::isa<llvm::SelectInst>(instruction))
    return InstructionKind::Compare;
  if (llvm::isa<llvm::CastInst>(instruction)) return InstructionKind::Convert;
  if (instruction.isBinaryOp() || instruction.isUnaryOp())
    return instruction.getType()->isFPOrFPVectorTy() ? InstructionKind::Float
                                                     : InstructionKind::Integer;
  return InstructionKind::Other;
}

} // namespace

std::vector<BlockMix> mixesOf(const llvm::Module &module) {
  std::vector<BlockMix> mixes;
  for (const llvm::Function &function : module)
    for (const llvm::BasicBlock &block : function) {
      BlockMix mix{.block = const_cast<llvm::BasicBlock *>(&block), .counts = {}};
      for (const Instruction &instruction : block)
        if (const auto kind = kindOf(instruction)) ++mix.counts[static_cast<std::size_t>(*kind)];
      mixes.push_back(mix);
    }
  return mixes;
}

void countBlocks(llvm::ArrayRef<BlockMix> mixes) {
  llvm::Function *function = nullptr;
  llvm::Value *counts = nullptr;
  for (std::size_t i = 0; i < mixes.size(); ++i) {
    llvm::BasicBlock *block = mixes[i].block;
    Builder b(block, block->getFirstInsertionPt());
    // A function's first block comes first.
    if (block->getParent() != function) {
      function = block->getParent();
      counts = createCall(b, calls::blockCounts, {});
    }
    llvm::Value *count = b.CreateConstGEP1_64(b.getInt64Ty(), counts, i);
    b.CreateStore(b.CreateAdd(b.CreateLoad(b.getInt64Ty(), count), b.getInt64(1)), count);
  }
}

} // namespace imbrex::emulate
