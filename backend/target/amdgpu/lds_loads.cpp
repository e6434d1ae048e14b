#include "backend/target/amdgpu/lds_loads.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/MemoryModelRelaxationAnnotations.h"
#include "llvm/Support/AMDGPUAddrSpace.h"

namespace imbrex::target::amdgpu {
namespace {

using llvm::Instruction;

bool startsLoadToLds(const Instruction &instruction) {
  const auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  return call && (call->getIntrinsicID() == llvm::Intrinsic::amdgcn_global_load_lds ||
                  call->getIntrinsicID() == llvm::Intrinsic::amdgcn_raw_ptr_buffer_load_lds);
}

bool isAccessToLds(const Instruction &instruction) {
  const llvm::Value *pointer = llvm::getLoadStorePointerOperand(&instruction);
  if (const auto *update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
    pointer = update->getPointerOperand();
  if (const auto *exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
    pointer = exchange->getPointerOperand();
  // ds_read_tr, ds_load_tr
  if (const auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
    if (call->onlyReadsMemory() && call->arg_size() == 1) pointer = call->getArgOperand(0);
  return pointer && pointer->getType()->isPointerTy() &&
         pointer->getType()->getPointerAddressSpace() == llvm::AMDGPUAS::LOCAL_ADDRESS;
}

bool isLocalFence(const Instruction &instruction) {
  return llvm::isa<llvm::FenceInst>(instruction) &&
         instruction.getMetadata(llvm::LLVMContext::MD_mmra) ==
             markOfLocalFences(instruction.getContext());
}

struct Scopes {
  explicit Scopes(llvm::LLVMContext &context) {
    llvm::MDBuilder b(context);
    llvm::MDNode *const domain = b.createAnonymousAliasScopeDomain("lds");
    const auto list = [&](const char *name) {
      return llvm::MDNode::get(context, {b.createAnonymousAliasScope(domain, name)});
    };
    loads = list("loads to lds");
    accesses = list("accesses to lds");
  }
  llvm::MDNode *loads, *accesses;
};

void putApart(Instruction &instruction, llvm::MDNode *own, llvm::MDNode *other) {
  instruction.setMetadata(llvm::LLVMContext::MD_alias_scope, own);
  instruction.setMetadata(llvm::LLVMContext::MD_noalias, other);
}

void weaken(llvm::FenceInst &fence) {
  constexpr std::uint32_t kAllOfLds = 0xc07f; // of all counters, only lgkmcnt(0)
  llvm::IRBuilder<> b(&fence);
  if (fence.getOrdering() == llvm::AtomicOrdering::Release)
    b.CreateIntrinsic(llvm::Intrinsic::amdgcn_s_waitcnt, {}, {b.getInt32(kAllOfLds)});
  fence.setSyncScopeID(fence.getContext().getOrInsertSyncScopeID("wavefront"));
}

} // namespace

std::uint32_t waitForLoads(std::int32_t left) {
  constexpr std::uint32_t kAnyOfOthers = 0xf70;
  const auto count = static_cast<std::uint32_t>(left);
  return kAnyOfOthers | (count & 15) | (count >> 4) << 14;
}

llvm::MDNode *markOfLocalFences(llvm::LLVMContext &context) {
  return llvm::MMRAMetadata::getTagMD(context, "amdgpu-synchronize-as", "local");
}

bool meetsForLdsAlone(const Instruction &barrier) {
  const Instruction *before = barrier.getPrevNode();
  while (before != nullptr && !before->mayReadOrWriteMemory()) before = before->getPrevNode();
  return before != nullptr && isLocalFence(*before);
}

void prepareLoadsToLds(llvm::Module &module) {
  for (llvm::Function &function : module) {
    if (llvm::none_of(llvm::instructions(function), startsLoadToLds)) continue;
    const Scopes scopes(module.getContext());
    for (Instruction &instruction : llvm::instructions(function)) {
      if (startsLoadToLds(instruction)) putApart(instruction, scopes.loads, scopes.accesses);
      if (isAccessToLds(instruction)) putApart(instruction, scopes.accesses, scopes.loads);
      if (isLocalFence(instruction)) weaken(llvm::cast<llvm::FenceInst>(instruction));
    }
  }
}

} // namespace imbrex::target::amdgpu
