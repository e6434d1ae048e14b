#pragma once

#include "backend/target/codegen/ordered_access.h"
#include "llvm/TargetParser/TargetParser.h"

/// What orders memory in an assembly of AMD's. An instruction there only touches memory; the order
/// is in what stands around it:
///
///   buffer_wbl2 sc1                      the second cache is written back     releases for the
///   s_waitcnt vmcnt(0) lgkmcnt(0)        and all that the wave began is over  device,
///   global_atomic_add v0, v1, s[2:3]     for the device: no sc1
///   s_waitcnt vmcnt(0)                   it is over                           acquires
///   buffer_inv sc1                       and what is read next comes anew     for the device
///
/// In front that is so on every way on which the wave comes there, since its last access; behind,
/// before its next access on every way on which it goes on. What belongs to it by generation:
/// gcn_model.h.
namespace imbrex::target::amdgpu {

std::vector<FoundAccess> accessesOfAssembly(llvm::StringRef assembly, llvm::AMDGPU::IsaVersion isa);

} // namespace imbrex::target::amdgpu
