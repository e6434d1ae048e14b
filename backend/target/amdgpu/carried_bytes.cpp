#include "backend/target/amdgpu/carried_bytes.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

#include <vector>

namespace imbrex::target::amdgpu {
namespace {

using llvm::FixedVectorType;
using llvm::PHINode;

constexpr unsigned kRegisterBits = 32;

/// What the register is an integer to, or several are a vector; null where that is no matter.
llvm::Type *wordsOf(llvm::Type &type) {
  const auto *vector = llvm::dyn_cast<FixedVectorType>(&type);
  if (vector == nullptr || !vector->getElementType()->isIntegerTy(8)) return nullptr;
  const unsigned bits = vector->getNumElements() * 8;
  if (bits % kRegisterBits != 0) return nullptr;
  llvm::Type *const word = llvm::Type::getInt32Ty(type.getContext());
  return bits == kRegisterBits ? word : FixedVectorType::get(word, bits / kRegisterBits);
}

void carryInWords(PHINode &bytes, llvm::Type &type) {
  auto *const words = PHINode::Create(&type, bytes.getNumIncomingValues(), "", bytes.getIterator());
  words->setDebugLoc(bytes.getDebugLoc());
  for (unsigned i = 0; i < bytes.getNumIncomingValues(); ++i) {
    llvm::BasicBlock *const from = bytes.getIncomingBlock(i);
    const int known = words->getBasicBlockIndex(from); // both ways of a branch lead here
    llvm::Value *const value = known >= 0 ? words->getIncomingValue(static_cast<unsigned>(known))
                                          : llvm::IRBuilder<>(from->getTerminator())
                                                .CreateBitCast(bytes.getIncomingValue(i), &type);
    words->addIncoming(value, from);
  }
  llvm::IRBuilder<> b(bytes.getParent(), bytes.getParent()->getFirstInsertionPt());
  bytes.replaceAllUsesWith(b.CreateBitCast(words, bytes.getType()));
  bytes.eraseFromParent();
}

} // namespace

void carryBytesInWords(llvm::Module &module) {
  std::vector<PHINode *> found;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *phi = llvm::dyn_cast<PHINode>(&instruction); phi && wordsOf(*phi->getType()))
        found.push_back(phi);
  for (PHINode *phi : found) carryInWords(*phi, *wordsOf(*phi->getType()));
}

} // namespace imbrex::target::amdgpu
