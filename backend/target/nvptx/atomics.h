#pragma once

#include "backend/machine/machine.h"
#include "llvm/IR/Module.h"

/// Updates of memory in one step, as PTX has them.
///
/// LLVM 22.1 writes `atomicrmw` with neither its order nor its scope (its PR 179553 mends that),
/// which PTX takes for `.relaxed.gpu`: what a release should hand over may then still be under way.
/// And where it makes a loop of one, the first load is no atomic. So just before code is generated
///
///   atomicrmw add ptr addrspace(1) %p, i32 %x syncscope("device") acq_rel
///     becomes  atom.acq_rel.gpu.global.add.u32 %old, [%p], %x;
///   atomicrmw or %p, i8 %x          the same of the word around it, with bits that change nothing
///   else atomicrmw fadd %p, bfloat %x    where there is no such instruction: a loop of an atomic
///   load and
///                                   compare-exchanges, each with the order
///   cmpxchg %p, i16 %old, i16 %new  atom.….cas.b16, where LLVM takes a loop of the word around it
///
/// An order in the instruction is cheaper than fences of their own around it: of acquire and
/// release NVIDIA's assembler makes one wait for the thread's accesses and one invalidation, of two
/// fences two of each. Of an update whose result nobody asks for it makes the form without one
/// (`red`).
///
/// The module that LLVM optimises and the emulator runs has the `atomicrmw`; that the assembly has
/// what they ask for is held against it (backend/validate/access_order.h).
namespace imbrex::target::nvptx {

void prepareAtomics(llvm::Module &module, const machine::Machine &machine);

} // namespace imbrex::target::nvptx
