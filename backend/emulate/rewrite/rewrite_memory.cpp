#include "backend/emulate/rewrite/rewrite.h"
#include "backend/emulate/run/calls.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/LowerAtomic.h"
#include "llvm/Transforms/Utils/LowerMemIntrinsics.h"

#include <algorithm>
#include <optional>

namespace imbrex::emulate {
namespace {

using llvm::Instruction;
using llvm::Value;

bool isVolatileAtomic(const Rewriting &rewriting) {
  // PTX ISA 9.0, 8.4.2: a volatile access is a relaxed atomic of system scope.
  return rewriting.machine.family == machine::Family::Nvptx;
}

/// LLVM's names of scopes, of both vendors; "-one-as" is for one address space alone.
MemoryScope memoryScopeOf(const Instruction &instruction, llvm::SyncScope::ID scope) {
  llvm::SmallVector<llvm::StringRef, 16> names;
  instruction.getContext().getSyncScopeNames(names);
  llvm::StringRef name = names[scope];
  name.consume_back("-one-as");
  if (name == "singlethread") return MemoryScope::Thread;
  if (name == "wavefront") return MemoryScope::Warp;
  // A cluster of blocks has one block here.
  if (name == "workgroup" || name == "block" || name == "cluster") return MemoryScope::Block;
  return MemoryScope::Device;
}

struct MemoryOperand {
  Value *pointer;
  llvm::Type *type;
  llvm::Align alignment;
};

std::optional<MemoryOperand> memoryOperandOf(Instruction &instruction) {
  if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
    return MemoryOperand{load->getPointerOperand(), load->getType(), load->getAlign()};
  if (auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
    return MemoryOperand{store->getPointerOperand(), store->getValueOperand()->getType(),
                         store->getAlign()};
  if (auto *update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
    return MemoryOperand{update->getPointerOperand(), update->getType(), update->getAlign()};
  if (auto *exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
    return MemoryOperand{exchange->getPointerOperand(), exchange->getNewValOperand()->getType(),
                         exchange->getAlign()};
  return std::nullopt;
}

void setOrder(AccessSite &facts, llvm::AtomicOrdering order) {
  facts.acquires = llvm::isAcquireOrStronger(order);
  facts.releases = llvm::isReleaseOrStronger(order);
}

void describeAtomic(const Rewriting &rewriting, const Instruction &instruction, AccessSite &facts) {
  if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    facts.mode = AccessMode::Read;
    if (!load->isAtomic() && !(load->isVolatile() && isVolatileAtomic(rewriting))) return;
    facts.mode = AccessMode::AtomicRead;
    facts.reads = true;
    setOrder(facts, load->getOrdering());
    if (load->isAtomic()) facts.scope = memoryScopeOf(instruction, load->getSyncScopeID());
  } else if (auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    facts.mode = AccessMode::Write;
    if (!store->isAtomic() && !(store->isVolatile() && isVolatileAtomic(rewriting))) return;
    facts.mode = AccessMode::AtomicWrite;
    setOrder(facts, store->getOrdering());
    if (store->isAtomic()) facts.scope = memoryScopeOf(instruction, store->getSyncScopeID());
  } else if (auto *update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
    facts.mode = AccessMode::AtomicWrite;
    // Atomics of bytes are how elements of half a byte are stored: the other half stays what it
    // was, and is no other block's to store (docs/semantics.md).
    const bool isHalfOfByte = update->getType()->isIntegerTy(8);
    facts.reads = !isHalfOfByte;
    setOrder(facts, update->getOrdering());
    facts.scope = memoryScopeOf(instruction, update->getSyncScopeID());
    if (isHalfOfByte) facts.scope = std::min(facts.scope, MemoryScope::Block);
  } else if (auto *exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
    facts.mode = AccessMode::AtomicWrite;
    facts.reads = facts.isConditional = true;
    setOrder(facts, exchange->getSuccessOrdering());
    facts.scope = memoryScopeOf(instruction, exchange->getSyncScopeID());
  }
}

Space spaceOf(unsigned addressSpace) {
  // NVPTX's and AMDGPU's numbers: 1 global, 3 shared, 4 constant, 5 private; 0 is any of them.
  switch (addressSpace) {
  case 1:
  case 4: return Space::Global;
  case 3: return Space::Shared;
  default: return Space::Generic;
  }
}

std::string opcodeOf(const Instruction &instruction) {
  if (auto *update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
    return ("atomicrmw " + llvm::AtomicRMWInst::getOperationName(update->getOperation())).str();
  const bool isAtomic = instruction.isAtomic() && (llvm::isa<llvm::LoadInst>(instruction) ||
                                                   llvm::isa<llvm::StoreInst>(instruction));
  return std::string(isAtomic ? "atomic " : "") + instruction.getOpcodeName();
}

/// The variable of its own that a thread accesses, or a table that came with the code.
struct Variable {
  Value *value = nullptr;
  std::uint64_t bytes = 0;
};

Variable variableBehind(const Rewriting &rewriting, Value *object) {
  const llvm::DataLayout &layout = rewriting.module.getDataLayout();
  if (auto *local = llvm::dyn_cast<llvm::AllocaInst>(object))
    if (const auto size = local->getAllocationSize(layout)) return {object, size->getFixedValue()};
  if (auto *table = llvm::dyn_cast<llvm::GlobalVariable>(object))
    if (table->isConstant()) return {object, layout.getTypeAllocSize(table->getValueType())};
  return {};
}

/// One pass over a function: what it finds first, then what it changes.
class AccessRewriter {
public:
  AccessRewriter(Rewriting &rewriting, llvm::Function &function)
      : rewriting_(rewriting), dominators_(function), loops_(dominators_) {}

  void rewrite(Instruction &instruction, const MemoryOperand &accessed) {
    const llvm::DataLayout &layout = rewriting_.module.getDataLayout();
    Value *object = llvm::getUnderlyingObject(accessed.pointer, 0);
    const Variable variable = variableBehind(rewriting_, object);
    AccessSite facts;
    describeAtomic(rewriting_, instruction, facts);
    facts.space = spaceOf(accessed.pointer->getType()->getPointerAddressSpace());
    facts.bytes = static_cast<std::uint32_t>(layout.getTypeStoreSize(accessed.type));
    facts.alignment = static_cast<std::uint32_t>(accessed.alignment.value());
    facts.privateBytes = static_cast<std::uint32_t>(variable.bytes);
    facts.waits = isAtomic(facts.mode) && loops_.getLoopFor(instruction.getParent()) != nullptr;
    facts.parameter = parameterBehind(rewriting_, object);
    auto *site = addSite(rewriting_, instruction, opcodeOf(instruction), facts);
    const auto checked = check(instruction, accessed.pointer, variable.value, site);
    replace(instruction, checked, site);
  }

private:
  struct CheckedPointer {
    Value *pointer, *address;
  };

  CheckedPointer check(Instruction &instruction, Value *pointer, Value *variable,
                       llvm::ConstantInt *site) {
    Builder b(&instruction);
    Value *address = b.CreatePtrToInt(pointer, b.getInt64Ty());
    if (variable == nullptr) return {createCall(b, calls::access, {address, site}), address};
    const auto plain = [&](Value *p) { return b.CreateAddrSpaceCast(p, b.getPtrTy()); };
    return {createCall(b, calls::accessPrivate, {plain(variable), plain(pointer), site}), address};
  }

  static void replace(Instruction &instruction, const CheckedPointer &checked,
                      llvm::ConstantInt *site) {
    // The alignment has been checked, and the host's memory need not have it.
    if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      load->setOperand(load->getPointerOperandIndex(), checked.pointer);
      load->setAlignment(llvm::Align(1));
      load->setAtomic(llvm::AtomicOrdering::NotAtomic);
    } else if (auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      store->setOperand(store->getPointerOperandIndex(), checked.pointer);
      store->setAlignment(llvm::Align(1));
      store->setAtomic(llvm::AtomicOrdering::NotAtomic);
    } else if (auto *update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      update->setOperand(update->getPointerOperandIndex(), checked.pointer);
      llvm::lowerAtomicRMWInst(update);
    } else if (auto *exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      exchange->setOperand(exchange->getPointerOperandIndex(), checked.pointer);
      Builder b(exchange->getNextNode());
      Value *success = b.CreateZExt(b.CreateExtractValue(exchange, 1), b.getInt32Ty());
      createCall(b, calls::didCompareExchange, {checked.address, site, success});
      llvm::lowerAtomicCmpXchgInst(exchange);
    }
  }

  Rewriting &rewriting_;
  llvm::DominatorTree dominators_;
  llvm::LoopInfo loops_;
};

void rewriteFence(Rewriting &rewriting, llvm::FenceInst &fence) {
  FenceSite facts;
  facts.scope = memoryScopeOf(fence, fence.getSyncScopeID());
  facts.acquires = llvm::isAcquireOrStronger(fence.getOrdering());
  facts.releases = llvm::isReleaseOrStronger(fence.getOrdering());
  Builder b(&fence);
  createCall(b, calls::fence, {addSite(rewriting, fence, "fence", facts)});
  fence.eraseFromParent();
}

void rewriteFunction(Rewriting &rewriting, llvm::Function &function) {
  AccessRewriter rewriter(rewriting, function);
  llvm::SmallVector<Instruction *> instructions;
  for (Instruction &instruction : llvm::instructions(function))
    instructions.push_back(&instruction);
  for (Instruction *instruction : instructions) {
    if (auto *fence = llvm::dyn_cast<llvm::FenceInst>(instruction))
      rewriteFence(rewriting, *fence);
    else if (const auto accessed = memoryOperandOf(*instruction))
      rewriter.rewrite(*instruction, *accessed);
  }
}

} // namespace

std::int32_t parameterBehind(const Rewriting &rewriting, const Value *pointer) {
  const auto *argument = llvm::dyn_cast<llvm::Argument>(llvm::getUnderlyingObject(pointer, 0));
  const bool isOurs = argument != nullptr && argument->getParent() == &rewriting.kernel;
  return isOurs ? static_cast<std::int32_t>(argument->getArgNo()) : -1;
}

void expandMemoryCalls(Rewriting &rewriting) {
  const llvm::TargetTransformInfo target(rewriting.module.getDataLayout());
  for (llvm::Function &function : rewriting.module) {
    llvm::SmallVector<llvm::MemIntrinsic *> calls;
    for (Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) calls.push_back(call);
    for (llvm::MemIntrinsic *call : calls) {
      if (auto *copy = llvm::dyn_cast<llvm::MemCpyInst>(call))
        llvm::expandMemCpyAsLoop(copy, target);
      else if (auto *move = llvm::dyn_cast<llvm::MemMoveInst>(call))
        llvm::expandMemMoveAsLoop(move, target);
      else if (auto *fill = llvm::dyn_cast<llvm::MemSetInst>(call))
        llvm::expandMemSetAsLoop(fill);
      call->eraseFromParent();
    }
  }
}

void rewriteMemory(Rewriting &rewriting) {
  for (llvm::Function &function : rewriting.module)
    if (!function.isDeclaration()) rewriteFunction(rewriting, function);
}

} // namespace imbrex::emulate
