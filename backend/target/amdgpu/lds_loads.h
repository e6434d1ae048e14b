#pragma once

#include "llvm/IR/Instruction.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"

#include <cstdint>

/// Loads to LDS that fly while their wave goes on, and are waited for by their number: vmcnt.
///
/// LLVM 22 takes them for stores that may be read at once. It would wait for all of them, vmcnt(0),
/// in front of every access to LDS that may touch what they write (SIInsertWaitcnts), and at every
/// fence of the block (SIMemoryLegalizer), and so let nothing fly. What the waits are that are
/// needed has been proven, and they are in the code. So just before code is generated, of a module
/// in which such loads are,
///
///   - loads to LDS and other accesses to LDS are put in alias scopes of their own;
///   - a fence for LDS alone, in front of a barrier, becomes `s_waitcnt lgkmcnt(0)`: the wave's
///     accesses to LDS are over. It and the one behind the barrier stay as fences of the wave, for
///     which nothing is waited and over which nothing is moved.
///
/// The module that LLVM optimises and the emulator runs is another, in which nothing is promised.
namespace imbrex::target::amdgpu {

/// The operand of s_waitcnt by which so many vector loads may be left, and any number of all else:
/// bits 0 to 3, 14 and 15; of lgkmcnt 8 to 11, of expcnt 4 to 6 (LLVM 22, AMDGPUBaseInfo.cpp).
std::uint32_t waitForLoads(std::int32_t left);

/// What marks a fence as being for LDS alone.
llvm::MDNode *markOfLocalFences(llvm::LLVMContext &context);

/// Whether a barrier is one for LDS alone, by the fence in front of it.
bool meetsForLdsAlone(const llvm::Instruction &barrier);

void prepareLoadsToLds(llvm::Module &module);

} // namespace imbrex::target::amdgpu
