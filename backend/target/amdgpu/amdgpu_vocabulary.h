#pragma once

#include "backend/lower/vocabulary.h"
#include "llvm/TargetParser/TargetParser.h"

namespace imbrex::target::amdgpu {

/// The words of AMD's GPUs, all of them LLVM's intrinsics.
class AmdgpuVocabulary final : public lower::Vocabulary {
public:
  explicit AmdgpuVocabulary(const machine::Machine &machine);
  llvm::AMDGPU::IsaVersion isa() const { return isa_; }

  void declareKernel(llvm::Function &function, std::int32_t threads) const override;
  llvm::SmallVector<Value *, 4> loadColumns(Builder &b, Value *row,
                                            std::int32_t elementBits) const override;
  Value *loadGlobalColumns(Builder &b, llvm::Type *type, Value *row) const override;
  bool hasFloatPairs() const override;
  bool hasBuffers() const override { return true; }
  Value *loadFromBuffer(Builder &b, llvm::Type *type, const BufferPlace &from) const override;
  void useMatrixUnit(llvm::Function &function,
                     const machine::MmaInstruction &instruction) const override;
  void limitRegisters(llvm::Function &function, std::int32_t registers) const override;
  void expectWarps(llvm::Function &function, std::int64_t perPartition) const override;
  Value *threadIndex(Builder &b) const override;
  llvm::StringRef threadRegister() const override { return "v"; }
  Value *blockIndex(Builder &b, std::int32_t axis) const override;
  Value *gridExtent(Builder &b, std::int32_t axis) const override;
  void meetAll(Builder &b) const override;
  void keepOrder(Builder &b) const override;
  void awaitLoads(Builder &b) const override;
  Value *shuffleXor(Builder &b, Value *x, std::uint32_t mask) const override;
  std::uint32_t cheapestMask(std::uint32_t mask, std::uint32_t alike) const override;
  Value *shuffle(Builder &b, Value *x, Value *lane) const override;
  Value *any(Builder &b, Value *condition) const override;
  unsigned globalSpace() const override;
  unsigned sharedSpace() const override;
  llvm::SyncScope::ID syncScope(llvm::LLVMContext &context, ir::Scope scope) const override;
  void applyHints(llvm::Instruction &access, ir::Cache cache, ir::Eviction eviction) const override;
  void meetForShared(Builder &b) const override;
  void copyInLaneOrder(Builder &b, Value *to, Value *from, std::int64_t bytes) const override;
  void copyFromBuffer(Builder &b, Value *to, const BufferPlace &from,
                      std::int64_t bytes) const override;
  Value *uniform(Builder &b, Value *x) const override;
  void drainCopies(Builder &b, std::int32_t left) const override;
  Value *nearReciprocal(Builder &b, Value *x) const override;
  bool keepsNaN() const override;

private:
  Value *fastAlone(Builder &b, ir::OpKind kind, llvm::ArrayRef<Value *> operands) const override;
  /// The buffer whose distances are from here.
  Value *bufferAt(Builder &b, Value *first) const;

  llvm::AMDGPU::IsaVersion isa_;
};

} // namespace imbrex::target::amdgpu
