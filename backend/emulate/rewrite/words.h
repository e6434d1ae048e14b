#pragma once

#include "backend/emulate/rewrite/rewrite.h"
#include "backend/emulate/run/calls.h"
#include "llvm/IR/DerivedTypes.h"

namespace imbrex::emulate {

/// Where the parts of an operand go, and results are: words of the thread.
class Words {
public:
  Words(const Rewriting &rewriting, Builder &b)
      : layout_(rewriting.module.getDataLayout()), b_(b), words_(createCall(b, calls::words, {})) {}

  /// The word behind it.
  std::uint64_t store(llvm::Value *value, std::uint64_t word) {
    const auto bits = static_cast<unsigned>(layout_.getTypeSizeInBits(value->getType()));
    llvm::Value *plain = b_.CreateBitCast(value, b_.getIntNTy(bits));
    b_.CreateAlignedStore(plain, at(word), llvm::Align(4));
    return word + bits / 32;
  }

  /// A value, or a structure of values, from a word on.
  llvm::Value *load(llvm::Type *type, std::uint64_t word) {
    auto *members = llvm::dyn_cast<llvm::StructType>(type);
    if (members == nullptr) {
      const auto bits = static_cast<unsigned>(layout_.getTypeSizeInBits(type));
      return b_.CreateBitCast(b_.CreateAlignedLoad(b_.getIntNTy(bits), at(word), llvm::Align(4)),
                              type);
    }
    llvm::Value *all = llvm::PoisonValue::get(type);
    for (unsigned i = 0; i < members->getNumElements(); ++i) {
      llvm::Type *member = members->getElementType(i);
      all = b_.CreateInsertValue(all, load(member, word), i);
      word += layout_.getTypeSizeInBits(member) / 32;
    }
    return all;
  }

private:
  llvm::Value *at(std::uint64_t word) {
    return b_.CreateConstGEP1_64(b_.getInt32Ty(), words_, word);
  }

  const llvm::DataLayout &layout_;
  Builder &b_;
  llvm::Value *words_;
};

} // namespace imbrex::emulate
