#pragma once

#include "backend/ir/kernel.h"
#include "backend/machine/mma.h"
#include "llvm/ADT/ArrayRef.h"

#include <array>
#include <cstdint>

namespace imbrex::passes {

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
/// as they come from outside of the loop or are another's sums; the fragments of two steps; what is
/// loaded a trip ahead, where no copies run beside the threads; and a few for addresses and counts.
/// An estimate, from which the warps of a block are chosen.
std::int64_t registersWanted(const ir::Kernel &kernel, const machine::Machine &machine,
                             llvm::ArrayRef<WarpProduct> products, std::int32_t warps);

} // namespace imbrex::passes
