#pragma once

#include "backend/ir/kernel.h"
#include "backend/machine/mma.h"
#include "llvm/ADT/ArrayRef.h"

#include <array>
#include <cstdint>

namespace imbrex::passes {

/// Addresses, counts, and what else is in registers: with this the sum is what LLVM 22 takes for
/// products of 128 x 128 x 64 on two machines with 256 registers, by 8 warps and by 16.
inline constexpr std::int64_t kOtherRegisters = 32;
/// The fragments of the next step are loaded while those of this one are multiplied.
inline constexpr std::int64_t kStepsAtOnce = 2;

/// A product on a unit, as warps share it.
struct WarpProduct {
  const ir::Op *dot;
  const machine::MmaInstruction *unit;
  std::array<std::int64_t, 2> pieces; ///< That a warp has along rows, all batches', and columns.
  std::int64_t steps;                 ///< Of the instruction along k.
  bool isBesideOthers; ///< Its sums live at a time with another's: one's become operands.
  bool keepsOperands;  ///< Such operands stay in their registers.
};

/// The registers of a thread that a kernel's products want at once: their sums; operands that stay,
/// as they come from outside of the loop or are another's sums; operands that are cast for the
/// unit, as they were; the fragments of two steps; what is loaded a trip ahead, where no copies run
/// beside the threads; and a few for addresses and counts. An estimate, from which the warps of a
/// block are chosen.
std::int64_t registersWanted(const ir::Kernel &kernel, const machine::Machine &machine,
                             llvm::ArrayRef<WarpProduct> products, std::int32_t warps);

} // namespace imbrex::passes
