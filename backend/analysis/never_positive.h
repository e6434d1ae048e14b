#pragma once

#include "backend/ir/kernel.h"

namespace imbrex::analysis {

/// Whether all elements of floats are certainly at most 0, or NaN: -|x|, -(x x), and x - m, where m
/// is at least x as the largest element of a row is,
///
///   %m = reduce %x [combine = max, axis = 1] : f32[4]
///   %n = broadcast (reshape %m) : f32[4x64]
///   %d = sub %x, %n
///
/// and so is the larger of that and any other number.
bool isNeverPositive(const ir::Kernel &kernel, ir::ValueId value);

} // namespace imbrex::analysis
