#pragma once

#include "backend/lower/emitter.h"

namespace imbrex::lower {

/// The quotients of f32 elements, correctly rounded: register by register, but those by one
/// divisor, a row's sum or a constant, by its reciprocal (backend/math/quotient.h).
///
///   in front                          behind
///   %q0 = fdiv %x0, %sum              %y = reciprocal of %sum
///   %q1 = fdiv %x1, %sum              %f0 = three operations on %x0, %y, %sum; and so on
///   …                                 br (%sum and all %x are in range), %done, %rare
///                                   rare: a loop, that takes one of %x at a time, in f64
///                                   done:
///                                     %q0 = phi [%f0, …], [%r0, %rare]
///
/// A machine's division is ten instructions, and some have a routine of a hundred more behind it.
Registers emitQuotients(Emitter &e, const Registers &dividends, const Registers &divisors);

} // namespace imbrex::lower
