#pragma once

#include "llvm/IR/Module.h"

/// Shifts that LLVM 22.1 makes wrong PTX of, written so just before code is generated that it
/// cannot.
///
///   %in = icmp ult i64 %y, 64                  %low = and i64 %y, 63
///   %s  = shl i64 %x, %y                       %s   = shl i64 %x, %low
///   select i1 %in, i64 %s, i64 0
///
/// PTX's shift gives 0 for every number from 64 on, so LLVM drops the comparison. But PTX takes the
/// low 32 bits of the number, and a shift by 2^32 would be none (its PR 201165 mends that; an H100
/// showed it).
///
///   %s = shl nsw i32 %x, 31                    %s = shl i32 %x, 31
///   sext i32 %s to i64
///
/// becomes a product with −2^31, which is +2^31 for the x = −1 that it is for (its PR 200924).
namespace imbrex::target::nvptx {

void prepareShifts(llvm::Module &module);

} // namespace imbrex::target::nvptx
