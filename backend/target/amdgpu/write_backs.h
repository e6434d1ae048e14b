#pragma once

#include "llvm/CodeGen/MachineFunction.h"

/// A release that the whole device, or the system, is to see writes the second cache back and waits
/// for that: the next access is what tells others. The wait that LLVM 22.1 puts there it takes away
/// again where nothing else is under way, for it does not count the writing back (its PR 178316):
///
///   buffer_wbl2 sc1                                buffer_wbl2 sc1
///   global_atomic_add v0, v1, s[2:3]               s_waitcnt vmcnt(0)     <- of this pass
///                                                  global_atomic_add v0, v1, s[2:3]
///
/// So it is when one thread speaks for a block that has met, or in the loop of an update that no
/// instruction makes. Of gfx90a, gfx942 and gfx950; later machines have other instructions, which
/// are counted. That it is there is held against the assembly (backend/validate/access_order.h).
namespace imbrex::target::amdgpu {

/// Behind this pass of LLVM's all waits are in the code.
inline constexpr const char *kPassOfWaits = "si-insert-waitcnts";
/// Waits behind each write-back that is not waited for.
bool waitForWriteBacks(llvm::MachineFunction &function);

} // namespace imbrex::target::amdgpu
