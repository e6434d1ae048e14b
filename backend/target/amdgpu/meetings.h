#pragma once

#include "backend/target/gpu_target.h"

namespace imbrex::target::amdgpu {

/// s_barrier orders no memory by itself (LLVM, AMDGPUUsage, "Memory Model"). What a thread has done
/// before is over behind a release fence, and what it does behind an acquire fence comes after; no
/// access may stand between a fence and the barrier.
MeetingKind meetingAt(const llvm::Instruction &instruction);

} // namespace imbrex::target::amdgpu
