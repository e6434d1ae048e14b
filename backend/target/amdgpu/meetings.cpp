#include "backend/target/amdgpu/meetings.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

namespace imbrex::target::amdgpu {
namespace {

using llvm::AtomicOrdering;
using llvm::BasicBlock;
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

/// A side of a barrier, and the order that a fence must give there.
struct ReleaseSide {
  static const Instruction *next(const Instruction &at) { return at.getPrevNode(); }
  static auto blocks(const BasicBlock &of) { return llvm::predecessors(&of); }
  static const Instruction *first(const BasicBlock &block) { return &block.back(); }
  static bool orders(AtomicOrdering order) { return llvm::isReleaseOrStronger(order); }
};
struct AcquireSide {
  static const Instruction *next(const Instruction &at) { return at.getNextNode(); }
  static auto blocks(const BasicBlock &of) { return llvm::successors(&of); }
  static const Instruction *first(const BasicBlock &block) { return &block.front(); }
  static bool orders(AtomicOrdering order) { return llvm::isAcquireOrStronger(order); }
};

/// Whether on every way from a barrier a fence comes before any access. LLVM moves a fence that
/// both arms of a branch begin with in front of it.
template <class Side>
bool isFenced(const Instruction &barrier) {
  const auto isFence = [](const Instruction &at) {
    const auto *fence = llvm::dyn_cast<llvm::FenceInst>(&at);
    return fence && Side::orders(fence->getOrdering()) && reachesBlock(*fence);
  };
  const auto isAccess = [](const Instruction &at) {
    return isBarrier(at) || (!llvm::isa<llvm::FenceInst>(at) && at.mayReadOrWriteMemory());
  };
  llvm::SmallPtrSet<const BasicBlock *, 8> seen;
  llvm::SmallVector<std::pair<const Instruction *, const BasicBlock *>, 8> open{
      {Side::next(barrier), barrier.getParent()}};
  while (!open.empty()) {
    auto [at, block] = open.pop_back_val();
    while (at != nullptr && !isFence(*at) && !isAccess(*at)) at = Side::next(*at);
    if (at != nullptr && isFence(*at)) continue;
    const auto onward = Side::blocks(*block);
    if (at != nullptr || onward.empty()) return false;
    for (const BasicBlock *next : onward)
      if (seen.insert(next).second) open.emplace_back(Side::first(*next), next);
  }
  return true;
}

} // namespace

MeetingKind meetingAt(const Instruction &instruction) {
  if (!isBarrier(instruction)) return MeetingKind::None;
  const bool isOrdered = isFenced<ReleaseSide>(instruction) && isFenced<AcquireSide>(instruction);
  return isOrdered ? MeetingKind::Orders : MeetingKind::Unfenced;
}

} // namespace imbrex::target::amdgpu
