#include "backend/target/codegen/ordered_access.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

namespace imbrex::target {
namespace {

using llvm::AtomicOrdering;

/// LLVM's names of scopes, of both vendors; "-one-as" is for one address space alone.
MemoryScope memoryScopeOf(llvm::LLVMContext &context, llvm::SyncScope::ID scope) {
  llvm::SmallVector<llvm::StringRef, 16> names;
  context.getSyncScopeNames(names);
  llvm::StringRef name = names[scope];
  name.consume_back("-one-as");
  if (name == "singlethread" || name == "wavefront") return MemoryScope::None;
  // A cluster of blocks has one block here.
  if (name == "workgroup" || name == "block" || name == "cluster") return MemoryScope::Block;
  return name == "agent" || name == "device" ? MemoryScope::Device : MemoryScope::System;
}

template <class Atomic>
OrderedAccess orderedAs(AccessKind kind, const Atomic &atomic, llvm::Type *type,
                        AtomicOrdering order) {
  const MemoryScope scope = memoryScopeOf(atomic.getContext(), atomic.getSyncScopeID());
  const llvm::DataLayout &layout = atomic.getDataLayout();
  const std::uint64_t bits =
      type == nullptr ? 0 : layout.getTypeStoreSizeInBits(type).getFixedValue();
  return {.kind = kind,
          .bits = static_cast<std::int32_t>(bits),
          .scope = scope,
          .acquires = llvm::isAcquireOrStronger(order) ? scope : MemoryScope::None,
          .releases = llvm::isReleaseOrStronger(order) ? scope : MemoryScope::None};
}

std::string_view nameOf(AccessKind kind) {
  switch (kind) {
  case AccessKind::Load: return "a load";
  case AccessKind::Store: return "a store";
  case AccessKind::Update: return "an update";
  case AccessKind::Exchange: return "a compare-exchange";
  case AccessKind::Fence: return "a fence";
  case AccessKind::Meeting: return "a meeting";
  case AccessKind::Launch: return "a wait for the launch before";
  }
  return "";
}

std::string_view nameOf(MemoryScope scope) {
  switch (scope) {
  case MemoryScope::None: return "no one";
  case MemoryScope::Block: return "the block";
  case MemoryScope::Device: return "the device";
  case MemoryScope::System: return "the system";
  }
  return "";
}

} // namespace

std::string toText(const OrderedAccess &access) {
  std::string text(nameOf(access.kind));
  if (access.bits != 0)
    text += " of " + std::to_string(access.bits) + " bits in one step for " +
            std::string(nameOf(access.scope));
  return text + " that acquires for " + std::string(nameOf(access.acquires)) +
         " and releases for " + std::string(nameOf(access.releases));
}

std::optional<OrderedAccess> accessOf(const llvm::Instruction &instruction) {
  if (const auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction); load && load->isAtomic())
    return orderedAs(AccessKind::Load, *load, load->getType(), load->getOrdering());
  if (const auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction); store && store->isAtomic())
    return orderedAs(AccessKind::Store, *store, store->getValueOperand()->getType(),
                     store->getOrdering());
  if (const auto *update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
    return orderedAs(AccessKind::Update, *update, update->getType(), update->getOrdering());
  if (const auto *exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
    return orderedAs(AccessKind::Exchange, *exchange, exchange->getNewValOperand()->getType(),
                     exchange->getMergedOrdering());
  if (const auto *fence = llvm::dyn_cast<llvm::FenceInst>(&instruction))
    return orderedAs(AccessKind::Fence, *fence, nullptr, fence->getOrdering());
  return std::nullopt;
}

bool Columns::read(llvm::StringRef line) {
  if (!line.consume_front(".loc")) return false;
  llvm::SmallVector<llvm::StringRef, 6> words;
  line.trim().split(words, ' ', -1, /*KeepEmpty=*/false);
  if (words.size() < 3 || words[2].getAsInteger(10, current_)) current_ = 0;
  return true;
}

} // namespace imbrex::target
