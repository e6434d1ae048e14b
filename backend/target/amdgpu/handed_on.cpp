#include "backend/target/amdgpu/handed_on.h"

#include "backend/target/amdgpu/lds_loads.h"
#include "backend/target/codegen/ordered_access.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

namespace imbrex::target::amdgpu {
namespace {

bool releasesBeyondBlock(const llvm::Instruction &instruction) {
  const auto access = accessOf(instruction);
  return access && access->releases > MemoryScope::Block;
}

} // namespace

void finishBeforeMeetings(llvm::Module &module) {
  for (llvm::Function &function : module) {
    if (llvm::none_of(llvm::instructions(function), releasesBeyondBlock)) continue;
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      const auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (!call || call->getIntrinsicID() != llvm::Intrinsic::amdgcn_s_barrier) continue;
      if (meetsForLdsAlone(instruction)) continue; // what it hands on is not to be released
      llvm::IRBuilder<> b(&instruction);
      b.CreateIntrinsic(llvm::Intrinsic::amdgcn_s_waitcnt, {}, {b.getInt32(waitForLoads(0))});
    }
  }
}

} // namespace imbrex::target::amdgpu
