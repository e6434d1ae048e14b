#pragma once

#include "backend/passes/units/unit_warps.h"

#include <string>

/// Why products are made by the instructions that they are, for people.
namespace imbrex::passes::units {

/// What a kernel's products are made by, once warps share them, and at what price; for each what
/// its operands are cast to, if the unit does not take them as they are, and what would be next, of
/// those that lost and of those that are refused, and why not. All of it is what the choice has
/// compared.
///
///   'dot' at gemm.cpp:12: nvvm.mma.m16n8k16.row.col.bf16, 16 x 8 x 16, by warps [2, 2]: 64 a
///   warp, 512 cycles of a unit
///     next best: nvvm.mma.m16n8k8.row.col.bf16, 128 a warp, 512 cycles of a unit: as many
///     cycles, in more instructions
///   registers of a thread for products: 224 of 255 by 4 warps
std::string explainUnits(const ir::Kernel &kernel, llvm::ArrayRef<Product> products,
                         const WarpChoice &choice, const machine::Machine &machine);

/// Why a product stays one by multiply-adds, and what would change that.
std::string explainNoUnit(const ir::Kernel &kernel, const ir::Op &dot,
                          const machine::Machine &machine, llvm::ArrayRef<Candidate> candidates);

} // namespace imbrex::passes::units
