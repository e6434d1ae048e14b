#include "backend/target/amdgpu/carried_vectors.h"

#include "backend/lower/values/arithmetic.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

#include <vector>

namespace imbrex::target::amdgpu {
namespace {

using llvm::FixedVectorType;
using llvm::InsertElementInst;
using llvm::PHINode;
using llvm::Value;

using Elements = llvm::SmallVector<Value *, 16>;

/// What a vector is put together from, where all its elements are inserted; empty of others.
Elements elementsOf(const InsertElementInst &last) {
  const auto *type = llvm::dyn_cast<FixedVectorType>(last.getType());
  if (type == nullptr) return {};
  Elements elements(type->getNumElements(), nullptr);
  const Value *vector = &last;
  while (const auto *insertion = llvm::dyn_cast<InsertElementInst>(vector)) {
    const auto *index = llvm::dyn_cast<llvm::ConstantInt>(insertion->getOperand(2));
    if (index == nullptr || index->getZExtValue() >= elements.size()) return {};
    Value *&element = elements[index->getZExtValue()]; // whoever came last has set it
    if (element == nullptr) element = insertion->getOperand(1);
    vector = insertion->getOperand(0);
  }
  return llvm::is_contained(elements, nullptr) ? Elements{} : elements;
}

/// Whether these come into one block, as a vector could.
bool areCarried(const Elements &elements) {
  const auto *first = llvm::dyn_cast<PHINode>(elements[0]);
  const bool areDifferent =
      llvm::SmallPtrSet<Value *, 16>(elements.begin(), elements.end()).size() == elements.size();
  return first != nullptr && areDifferent && llvm::all_of(elements, [&](const Value *element) {
           const auto *phi = llvm::dyn_cast<PHINode>(element);
           return phi != nullptr && phi->getParent() == first->getParent();
         });
}

class VectorCarrier {
public:
  VectorCarrier(llvm::Function &function, WantsVectors wantsVectors) {
    for (llvm::Instruction &user : llvm::instructions(function)) {
      if (!wantsVectors(user)) continue;
      for (Value *operand : user.operands())
        if (auto *last = llvm::dyn_cast<InsertElementInst>(operand)) open_.push_back(last);
    }
  }

  void run() {
    while (!open_.empty()) {
      InsertElementInst &last = *open_.back();
      open_.pop_back();
      const Elements elements = elementsOf(last);
      if (!elements.empty() && areCarried(elements)) carry(last, elements);
    }
    for (PHINode *phi : replaced_) phi->eraseFromParent();
  }

private:
  void carry(InsertElementInst &last, const Elements &elements) {
    auto &first = *llvm::cast<PHINode>(elements[0]);
    llvm::BasicBlock &block = *first.getParent();
    PHINode *const vector =
        PHINode::Create(last.getType(), first.getNumIncomingValues(), "", block.begin());
    vector->setDebugLoc(first.getDebugLoc());
    last.replaceAllUsesWith(vector);
    // Now, so that what comes back around a loop is found to be the vector's.
    llvm::IRBuilder<> builder(&block, block.getFirstInsertionPt());
    for (const auto [index, element] : llvm::enumerate(elements)) {
      element->replaceAllUsesWith(builder.CreateExtractElement(vector, index));
      replaced_.push_back(llvm::cast<PHINode>(element));
    }
    for (llvm::BasicBlock *from : first.blocks()) {
      const int known = vector->getBasicBlockIndex(from); // both ways of a branch lead here
      vector->addIncoming(known >= 0 ? vector->getIncomingValue(static_cast<unsigned>(known))
                                     : comingFrom(*from, elements),
                          from);
    }
  }

  /// What comes from a block, made there if it is no vector yet.
  Value *comingFrom(llvm::BasicBlock &block, const Elements &elements) {
    Elements incoming;
    for (Value *element : elements)
      incoming.push_back(llvm::cast<PHINode>(element)->getIncomingValueForBlock(&block));
    if (Value *whole = lower::vectorTakenApart(incoming)) return whole;
    llvm::IRBuilder<> builder(block.getTerminator());
    Value *vector = lower::vectorOf(builder, incoming);
    if (auto *last = llvm::dyn_cast<InsertElementInst>(vector)) open_.push_back(last);
    return vector;
  }

  std::vector<InsertElementInst *> open_; ///< Vectors that are put together.
  std::vector<PHINode *> replaced_;
};

} // namespace

void carryVectors(llvm::Module &module, WantsVectors wantsVectors) {
  for (llvm::Function &function : module)
    if (!function.isDeclaration()) VectorCarrier(function, wantsVectors).run();
}

} // namespace imbrex::target::amdgpu
