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

} // namespace imbrex::lower
