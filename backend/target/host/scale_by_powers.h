#pragma once

#include "llvm/IR/Module.h"

/// An exponential is p 2^n, and n reaches beyond what a float's exponent can be, so that p is
/// multiplied by two powers of two, made by shifts (backend/math/exponential.h). AVX-512 has an
/// instruction for p 2^n, which rounds once as well; lanes that vanish are 0 by its mask, since a
/// result below all normal numbers takes Intel's processors hundreds of cycles. Then x need not be
/// bounded from below.
///
///   %c = select (fcmp ogt low, %x), low, %x
///   %z = fma %c, log2 e, 12583103.0    // n + 191 in the low bits
///   %n = fsub %z, 12583103.0
///   …                                      // p of %n and %c
///   %s = shl (bitcast %z), 23
///   %t = fmul %p, (bitcast %s)
///   %e = fmul %t, 0x1p-64                  ; %e = vscalef %p, %n where %n > -151, and x for c
///
/// Runs behind EarlyCSE; of vectors of f32 and f64.
namespace imbrex::host {

void scaleByPowers(llvm::Module &module);

} // namespace imbrex::host
