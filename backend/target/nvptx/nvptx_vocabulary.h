#pragma once

#include "backend/lower/vocabulary.h"

namespace imbrex::target::nvptx {

/// The words of NVIDIA's GPUs, all of them LLVM's intrinsics.
class NvptxVocabulary final : public lower::Vocabulary {
public:
  using Vocabulary::Vocabulary;

  void declareKernel(llvm::Function &function, std::int32_t threads) const override;
  void limitRegisters(llvm::Function &function, std::int32_t registers) const override;
  void formClusters(llvm::Function &function, llvm::ArrayRef<std::int64_t> extents) const override;
  void awaitLaunchBefore(Builder &b) const override;
  void letNextLaunchStart(Builder &b) const override;
  Value *threadIndex(Builder &b) const override;
  Value *blockIndex(Builder &b, std::int32_t axis) const override;
  Value *gridExtent(Builder &b, std::int32_t axis) const override;
  void meetAll(Builder &b) const override;
  Value *shuffleXor(Builder &b, Value *x, std::uint32_t mask) const override;
  Value *shuffle(Builder &b, Value *x, Value *lane) const override;
  Value *any(Builder &b, Value *condition) const override;
  unsigned globalSpace() const override;
  unsigned sharedSpace() const override;
  llvm::SyncScope::ID syncScope(llvm::LLVMContext &context, ir::Scope scope) const override;
  void applyHints(llvm::Instruction &access, ir::Cache cache, ir::Eviction eviction) const override;
  void useMatrixUnit(llvm::Function &function,
                     const machine::MmaInstruction &instruction) const override;
  llvm::SmallVector<Value *, 4> loadMatrices(Builder &b, Value *row, std::int32_t count,
                                             bool isTransposed) const override;
  void storeMatrices(Builder &b, Value *row, llvm::ArrayRef<Value *> registers,
                     bool isTransposed) const override;
  void copyAsync(Builder &b, Value *to, Value *from, const Copy &copy) const override;
  void commitCopies(Builder &b) const override;
  void drainCopies(Builder &b, std::int32_t left) const override;
  void passByValue(llvm::Argument &argument, std::int32_t bytes,
                   std::int32_t alignment) const override;
  void makeBarrier(Builder &b, Value *barrier, std::int32_t arrivals) const override;
  void showBarriers(Builder &b) const override;
  void arrive(Builder &b, Value *barrier) const override;
  void expect(Builder &b, Value *barrier, std::int64_t bytes) const override;
  Value *isOver(Builder &b, Value *barrier, Value *parity) const override;
  void loadBox(Builder &b, Value *to, const Box &box, Value *barrier) const override;
  void meetWarp(Builder &b) const override;
  void meet(Builder &b, std::int32_t threads) const override;
  void releaseRegisters(Builder &b, std::int32_t left) const override;
  void takeRegisters(Builder &b, std::int32_t count) const override;
  void fitBlocks(llvm::Function &function, std::int32_t blocks) const override;
  Value *nearReciprocal(Builder &b, Value *x) const override;
  bool keepsNaN() const override;

private:
  Value *fastAlone(Builder &b, ir::OpKind kind, llvm::ArrayRef<Value *> operands) const override;
};

} // namespace imbrex::target::nvptx
