#include "backend/lower/vocabulary.h"

#include "backend/support/check.h"

namespace imbrex::lower {
namespace {

[[noreturn]] void hasNoCopies(const Vocabulary &words) {
  IMBREX_UNREACHABLE("{0} has no asynchronous copies", words.machine().name);
}

[[noreturn]] void hasNoEngine(const Vocabulary &words) {
  IMBREX_UNREACHABLE("{0} loads no boxes", words.machine().name);
}

} // namespace

// Nobody asks a machine for what it does not have.

llvm::Value *Vocabulary::loadFromBuffer(Builder &, llvm::Type *, const BufferPlace &) const {
  IMBREX_UNREACHABLE("{0} has no buffers", machine().name);
}

llvm::SmallVector<llvm::Value *, 4> Vocabulary::loadMatrices(Builder &, Value *, std::int32_t,
                                                             bool) const {
  IMBREX_UNREACHABLE("{0} loads no matrices", machine().name);
}

void Vocabulary::storeMatrices(Builder &, Value *, llvm::ArrayRef<Value *>, bool) const {
  IMBREX_UNREACHABLE("{0} stores no matrices", machine().name);
}

llvm::SmallVector<llvm::Value *, 4> Vocabulary::loadColumns(Builder &, Value *,
                                                            std::int32_t) const {
  IMBREX_UNREACHABLE("{0} loads no columns", machine().name);
}

void Vocabulary::copyAsync(Builder &, Value *, Value *, const Copy &) const { hasNoCopies(*this); }
void Vocabulary::copyInLaneOrder(Builder &, Value *, Value *, std::int64_t) const {
  hasNoCopies(*this);
}
void Vocabulary::commitCopies(Builder &) const { hasNoCopies(*this); }
void Vocabulary::drainCopies(Builder &, std::int32_t) const { hasNoCopies(*this); }

void Vocabulary::passByValue(llvm::Argument &, std::int32_t, std::int32_t) const {
  hasNoEngine(*this);
}
void Vocabulary::makeBarrier(Builder &, Value *, std::int32_t) const { hasNoEngine(*this); }
void Vocabulary::showBarriers(Builder &) const { hasNoEngine(*this); }
void Vocabulary::arrive(Builder &, Value *) const { hasNoEngine(*this); }
void Vocabulary::expect(Builder &, Value *, std::int64_t) const { hasNoEngine(*this); }
llvm::Value *Vocabulary::isOver(Builder &, Value *, Value *) const { hasNoEngine(*this); }
void Vocabulary::loadBox(Builder &, Value *, const Box &, Value *) const { hasNoEngine(*this); }
void Vocabulary::meetWarp(Builder &) const { hasNoEngine(*this); }
void Vocabulary::meet(Builder &, std::int32_t) const { hasNoEngine(*this); }
void Vocabulary::releaseRegisters(Builder &, std::int32_t) const { hasNoEngine(*this); }
void Vocabulary::takeRegisters(Builder &, std::int32_t) const { hasNoEngine(*this); }
void Vocabulary::fitBlocks(llvm::Function &, std::int32_t) const { hasNoEngine(*this); }

} // namespace imbrex::lower
