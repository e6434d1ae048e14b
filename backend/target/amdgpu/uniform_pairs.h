#pragma once

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

/// From gfx942 to gfx950, LLVM 22.1 takes what computes on two floats apart behind an instruction
/// of the matrix unit, as the halves then run beside that one (SIPreEmitPeephole). Registers are
/// assigned by then, and an instruction may read only one scalar register: two different ones of a
/// pair, such as neighbouring arguments, were one to the whole, and the assembler refuses the
/// halves.
///
///   v_pk_fma_f32 v[0:1], v[0:1], s[12:13], s[12:13] op_sel:[0,0,1] op_sel_hi:[1,0,1]
///
///   v_fma_f32 v0, v0, s12, s13    ; refused
///
/// So just before code is generated, what computes on two floats of which two operands are the same
/// in each lane of a warp is written as its halves, for which LLVM copies one of these into a
/// register of each lane.
namespace imbrex::target::amdgpu {

void splitUniformPairs(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace imbrex::target::amdgpu
