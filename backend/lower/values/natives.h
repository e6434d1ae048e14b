#pragma once

#include "backend/lower/values/arithmetic.h"
#include "backend/lower/vocabulary.h"

namespace imbrex::lower {

/// What a GPU does better than the sequences that suit all: minimum and maximum already are ours,
/// and all round f16 themselves.
NativeInstructions nativesOf(const Vocabulary &words);

} // namespace imbrex::lower
