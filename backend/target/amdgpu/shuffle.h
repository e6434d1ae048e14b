#pragma once

#include "llvm/IR/IRBuilder.h"
#include "llvm/TargetParser/TargetParser.h"

#include <cstdint>

namespace imbrex::target::amdgpu {

/// What an ISA has for fetching a value from the lane whose number differs by a mask, cheapest
/// first:
///
///   mask          how                     where
///   1, 2, 3       DPP, quad_perm          all
///   7             DPP, row_half_mirror    all: x ^ 7 mirrors eight lanes
///   15            DPP, row_mirror         all: x ^ 15 mirrors sixteen
///   1 to 15       DPP, row_xmask          gfx10 on
///   16 to 31      v_permlanex16           gfx10 on: from the other row of sixteen
///   1 to 31       ds_swizzle              all: bit mode, within 32 lanes
///   32            v_permlane32_swap       gfx950
///   any           ds_bpermute             all
///
/// A DPP operand costs nothing; v_permlane is an ordinary instruction; ds_swizzle and ds_bpermute
/// pass through the LDS crossbar without touching its memory.
enum class Exchange : std::uint8_t { Dpp, PermlaneRows, Swizzle, PermlaneSwap, Bpermute };
Exchange cheapestExchange(llvm::AMDGPU::IsaVersion isa, std::uint32_t mask);
/// Of `mask` and this mask with any bits of `alike`, the one whose exchange is the cheapest.
std::uint32_t cheapestMask(llvm::AMDGPU::IsaVersion isa, std::uint32_t mask, std::uint32_t alike);

using Builder = llvm::IRBuilder<>;
llvm::Value *exchange(Builder &b, llvm::AMDGPU::IsaVersion isa, llvm::Value *x, std::uint32_t mask);
/// This thread's lane in its warp of 64.
llvm::Value *laneOf64(Builder &b);
/// From another lane, an i32.
llvm::Value *fetch(Builder &b, llvm::Value *x, llvm::Value *lane);

} // namespace imbrex::target::amdgpu
