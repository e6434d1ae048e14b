#pragma once

#include "backend/analysis/depth_order.h"
#include "backend/ir/kernel.h"
#include "backend/machine/machine.h"

/// Operands of products on matrix units that are computed from others: where these lie in registers
/// as the unit wants them, they are multiplied from there (lower/ops/emit_matrix_product.cpp), and
/// nothing passes through shared memory.
namespace imbrex::passes::layouts {

/// How a product on a unit wants an operand, or scales.
struct Fragments {
  layout::LinearLayout places; ///< With k counted as the instruction does.
  std::int32_t axis;           ///< Of k.
  bool isAnyOrder;    ///< Whether k may be counted otherwise: no step of the unit is cut off.
  bool areTransposed; ///< Whether the machine reads them from columns as well as from rows.
  /// Whether the other operand is read in place, by rows of matrices, into the registers that an
  /// instruction wants; in another order of k these would have to be moved.
  bool keepsOrder;
  const machine::Machine *machine;
  friend bool operator==(const Fragments &, const Fragments &) = default;
};
/// `sums`: how the result lies, or will.
Fragments fragmentsOf(const ir::Kernel &kernel, const ir::Op &dot, std::size_t operand,
                      const machine::Machine &machine, const layout::LinearLayout &sums);

/// Whether every thread has its fragments in a tile that is held so.
bool areHeld(const Fragments &fragments, const layout::LinearLayout &held);

/// Whether warps alone bring them there from a tile of such elements that is held so, by exchanges
/// of registers.
bool comeWithinWarps(const Fragments &fragments, const layout::LinearLayout &held,
                     std::int32_t elementBits);

/// As the unit wants it, with k counted so that a thread has 2^`bits` elements side by side; but in
/// the unit's own order, where that is to be kept.
layout::LinearLayout placesSideBySide(const Fragments &fragments, std::int32_t bits);

/// The layout in which an operand had best be computed: with 16 bytes side by side of what both
/// operands are computed from.
layout::LinearLayout computedLayout(const ir::Kernel &kernel, const ir::Op &dot,
                                    const Fragments &fragments);

} // namespace imbrex::passes::layouts
