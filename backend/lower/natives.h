#pragma once

#include "backend/lower/arithmetic.h"

namespace imbrex::lower {

/// What GPUs do better than the sequences that suit all: their minimum and maximum already are
/// ours.
extern const Natives kNatives;

} // namespace imbrex::lower
