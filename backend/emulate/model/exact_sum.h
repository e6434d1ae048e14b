#pragma once

#include "llvm/ADT/ArrayRef.h"

namespace imbrex::emulate {

/// The sum of all terms. Where no double is it, the one next to it toward zero with its last bit
/// set, so that rounding it to a format with at least two bits less is right (rounding to odd).
///
/// Terms are whole multiples of 2^-320 and their sums are below 2^300, or they are no numbers;
/// zeros and what is no number come out as IEEE 754 adds them.
double exactSum(llvm::ArrayRef<double> terms);
/// The same of `c` and the products of a and b, each of which is exact in a double.
double exactSum(double c, llvm::ArrayRef<double> a, llvm::ArrayRef<double> b);

} // namespace imbrex::emulate
