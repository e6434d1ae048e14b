#include "backend/target/amdgpu/meetings.h"

#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

namespace imbrex::target::amdgpu {
namespace {

using llvm::AtomicOrdering;
using llvm::Instruction;

bool isBarrier(const Instruction &instruction) {
  const auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  return call && call->getIntrinsicID() == llvm::Intrinsic::amdgcn_s_barrier;
}

bool reachesBlock(const llvm::FenceInst &fence) {
  const llvm::SyncScope::ID scope = fence.getSyncScopeID();
  llvm::LLVMContext &context = fence.getContext();
  return scope != llvm::SyncScope::SingleThread &&
         scope != context.getOrInsertSyncScopeID("wavefront") &&
         scope != context.getOrInsertSyncScopeID("wavefront-one-as");
}

/// Whether from an instruction on, forwards or backwards, a fence comes before any access.
template <class Next, class Orders>
bool isFenced(const Instruction &barrier, Next next, Orders orders) {
  for (const Instruction *at = next(barrier); at != nullptr; at = next(*at)) {
    const auto *fence = llvm::dyn_cast<llvm::FenceInst>(at);
    if (fence && orders(fence->getOrdering()) && reachesBlock(*fence)) return true;
    if (isBarrier(*at) || (!fence && at->mayReadOrWriteMemory())) return false;
  }
  return false;
}

} // namespace

Meeting meetingAt(const Instruction &instruction) {
  if (!isBarrier(instruction)) return Meeting::None;
  const bool releases = isFenced(
      instruction, [](const Instruction &at) { return at.getPrevNode(); },
      [](AtomicOrdering order) { return llvm::isReleaseOrStronger(order); });
  const bool acquires = isFenced(
      instruction, [](const Instruction &at) { return at.getNextNode(); },
      [](AtomicOrdering order) { return llvm::isAcquireOrStronger(order); });
  return releases && acquires ? Meeting::Orders : Meeting::Unfenced;
}

} // namespace imbrex::target::amdgpu
