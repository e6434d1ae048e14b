#pragma once

#include "llvm/IR/Module.h"

/// A word of four bytes from several words: a matrix of bytes that threads transpose as they store
/// it. LLVM 22.1 takes each byte out, shifts and puts together, six instructions for a word;
/// v_perm_b32 takes any four bytes of two words. Two neighbouring columns have two of the three in
/// common, so that a word costs two:
///
///   rows          pairs of columns                       columns
///   a0 a1 a2 a3   p = a0 b0 a1 b1   r = a2 b2 a3 b3      p0 p1 q0 q1 = a0 b0 c0 d0
///   b0 b1 b2 b3                                          p2 p3 q2 q3 = a1 b1 c1 d1
///   c0 c1 c2 c3   q = c0 d0 c1 d1   s = c2 d2 c3 d3      r0 r1 s0 s1 = a2 b2 c2 d2
///   d0 d1 d2 d3                                          r2 r3 s2 s3 = a3 b3 c3 d3
///
/// Just before code is generated: the emulator runs what LLVM has optimised.
namespace imbrex::target::amdgpu {

void permuteBytes(llvm::Module &module);

} // namespace imbrex::target::amdgpu
