#include "backend/lower/vocabulary.h"

#include "backend/support/check.h"

namespace imbrex::lower {

// Nobody asks a machine that has no asynchronous copies.

void Vocabulary::copyAsync(Builder &, Value *, Value *, const Copy &) const {
  IMBREX_UNREACHABLE("{0} has no asynchronous copies", machine().name);
}

void Vocabulary::copyInLaneOrder(Builder &, Value *, Value *, std::int64_t) const {
  IMBREX_UNREACHABLE("{0} has no copies in lane order", machine().name);
}

void Vocabulary::commitCopies(Builder &) const {
  IMBREX_UNREACHABLE("{0} has no asynchronous copies", machine().name);
}

void Vocabulary::drainCopies(Builder &, std::int32_t) const {
  IMBREX_UNREACHABLE("{0} has no asynchronous copies", machine().name);
}

// Nor one whose threads have no engine beside them.

void Vocabulary::passByValue(llvm::Argument &, std::int32_t, std::int32_t) const {
  IMBREX_UNREACHABLE("{0} loads no boxes", machine().name);
}

void Vocabulary::makeBarrier(Builder &, Value *, std::int32_t) const {
  IMBREX_UNREACHABLE("{0} loads no boxes", machine().name);
}

void Vocabulary::showBarriers(Builder &) const {
  IMBREX_UNREACHABLE("{0} loads no boxes", machine().name);
}

void Vocabulary::arrive(Builder &, Value *) const {
  IMBREX_UNREACHABLE("{0} loads no boxes", machine().name);
}

void Vocabulary::expect(Builder &, Value *, std::int64_t) const {
  IMBREX_UNREACHABLE("{0} loads no boxes", machine().name);
}

llvm::Value *Vocabulary::isOver(Builder &, Value *, Value *) const {
  IMBREX_UNREACHABLE("{0} loads no boxes", machine().name);
}

void Vocabulary::loadBox(Builder &, Value *, const Box &, Value *) const {
  IMBREX_UNREACHABLE("{0} loads no boxes", machine().name);
}

void Vocabulary::meetWarp(Builder &) const {
  IMBREX_UNREACHABLE("{0} loads no boxes", machine().name);
}

void Vocabulary::meet(Builder &, std::int32_t) const {
  IMBREX_UNREACHABLE("{0} loads no boxes", machine().name);
}

void Vocabulary::releaseRegisters(Builder &, std::int32_t) const {
  IMBREX_UNREACHABLE("{0} loads no boxes", machine().name);
}

void Vocabulary::takeRegisters(Builder &, std::int32_t) const {
  IMBREX_UNREACHABLE("{0} loads no boxes", machine().name);
}

void Vocabulary::fitBlocks(llvm::Function &, std::int32_t) const {
  IMBREX_UNREACHABLE("{0} loads no boxes", machine().name);
}

} // namespace imbrex::lower
