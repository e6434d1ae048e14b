#pragma once

#include "llvm/CodeGen/MachineFunction.h"

/// For a fence LLVM 22.1 writes a wait that it may take away where nothing is under way. In a loop
/// it decides so before it has seen what the loop's end leaves under way, and does not come back to
/// it (mended by its PR 220357):
///
///   loop:  s_waitcnt_vscnt null, 0x0      <- is taken away: in front of the loop nothing is stored
///          s_barrier
///          …
///          global_store_dword …           which the next barrier is to wait for
///          s_cbranch_scc1 loop
///
/// This pass makes such a wait one that stays, in loops in which there is something that it may be
/// for. One that is for nothing on some way costs no more than its instruction. That each is there
/// is held against the assembly (backend/validate/access_order.h).
namespace imbrex::target::amdgpu {

/// Goes behind kPassInFrontOfWaits (masked_loads.h).
bool keepWaitsInLoops(llvm::MachineFunction &function);

} // namespace imbrex::target::amdgpu
