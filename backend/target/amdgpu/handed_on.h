#pragma once

#include "llvm/IR/Module.h"

/// A block meets, and then one thread releases for all what they have written:
///
///   wave 0   store x                  wave 1
///            meet                              meet
///                                              release for the device
///
/// On gfx90a to gfx950 order within a block costs no wait for stores, since all its waves go
/// through one cache, in order. But behind it lie channels of the next cache, which keep no order
/// among each other; and the release waits for wave 1's own accesses alone, so that it may be seen
/// before x. LLVM has mended the same of later GPUs, in a mode that we do not use (its PR 161638),
/// and left these as they are. So in a kernel that releases for more than its block, a wave's
/// accesses are over before it meets others:
///
///   fence release                     fence release
///   s.barrier                         s.waitcnt vmcnt(0)
///                                     s.barrier
///
/// The later GPUs wait for stores at every meeting.
namespace imbrex::target::amdgpu {

void finishBeforeMeetings(llvm::Module &module);

} // namespace imbrex::target::amdgpu
