#pragma once

#include "llvm/CodeGen/MachineFunction.h"

/// A load that a mask stands for is made with the lanes off that are not to make it. LLVM branches
/// around it besides, for waves all of whose lanes are off:
///
///   s_and_saveexec_b64 s[0:1], vcc                 s_and_saveexec_b64 s[0:1], vcc
///   s_cbranch_execz .LBB0_2                        global_load_dwordx4 v[0:3], v[6:7], off
///   global_load_dwordx4 v[0:3], v[6:7], off        s_or_b64 exec, exec, s[0:1]
/// .LBB0_2:
///   s_or_b64 exec, exec, s[0:1]
///
/// Without the branch the load does nothing for such a wave, which is rare. For the others there is
/// no branch, and it is known how many loads are under way: behind one that may have been left out,
/// LLVM waits for all of them where the first is used.
///
/// Measured against it, and dearer, was an address that is chosen, of the element or of zeros: each
/// load then has two registers for its address that nothing shares.
namespace imbrex::target::amdgpu {

/// Behind this pass of LLVM's no register is given any more, and no wait is there yet.
inline constexpr const char *kPassInFrontOfWaits = "si-memory-legalizer";
/// Takes away branches around a few loads and what they need.
bool removeBranchesAroundLoads(llvm::MachineFunction &function);

} // namespace imbrex::target::amdgpu
