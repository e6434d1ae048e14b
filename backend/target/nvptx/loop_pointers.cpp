#include "backend/target/nvptx/loop_pointers.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/Support/NVPTXAddrSpace.h"

namespace imbrex::target::nvptx {
namespace {

/// From a value back through additions to the pointer that they begin with.
llvm::Value *beginningOf(llvm::Value *value) {
  while (auto *sum = llvm::dyn_cast<llvm::GetElementPtrInst>(value))
    value = sum->getPointerOperand();
  return value;
}

/// What a loop adds to a pointer that its head has, if it does.
void keep(llvm::PHINode &pointer) {
  for (llvm::Use &incoming : pointer.incoming_values()) {
    auto *next = llvm::dyn_cast<llvm::GetElementPtrInst>(incoming.get());
    if (!next || beginningOf(next) != &pointer) continue;
    llvm::IRBuilder<> b(next);
    auto &first = next->getOperandUse(next->getPointerOperandIndex());
    first.set(b.CreateFreeze(first.get()));
  }
}

} // namespace

void keepLoopPointers(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      for (llvm::PHINode &phi : block.phis()) {
        const auto *type = llvm::dyn_cast<llvm::PointerType>(phi.getType());
        if (type && type->getAddressSpace() == llvm::NVPTXAS::ADDRESS_SPACE_GLOBAL) keep(phi);
      }
}

} // namespace imbrex::target::nvptx
