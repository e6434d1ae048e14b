#pragma once

#include "backend/ir/kernel.h"
#include "backend/machine/mma.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes {

/// Choose for each product the matrix instruction that makes it, and the warps that share it.
///
///   before                                         after (sm_80)
///   %1 = dot %a, %b, %c : f32[128x128]             %1 = dot %a, %b, %c : f32[128x128]
///                                                         [unit =
///                                                         "nvvm.mma.m16n8k16.row.col.bf16",
///                                                          warps = [2, 2]]
///
/// Of the machine's instructions (machine/mma.h) for these elements the one that takes the fewest
/// cycles, the tile rounded up to whole pieces; of equals the one with the fewest instructions. A
/// warp has 64 x 64 of the sums, or less where registers have no room for these with all that is
/// wanted beside them (unit_registers.h), as near to a square as can be, so that least is read.
/// Where there are more warps than pieces, an instruction of smaller pieces may take each less
/// time. Where one product's sums become another's operand, both have all warps along the axis that
/// they share, so that the sums can stay in their registers. 8-bit floats that no unit of the
/// machine takes are cast to f16, exactly.
///
/// A scaled product has an instruction with block scales, for which f4e2m1 are packed in bytes; or,
/// of a machine without one for these elements, becomes a plain product of elements that hold the
/// scaled ones (docs/matrix-units.md, "Products with block scales").
///
/// What no instruction fits stays a product by multiply-adds. Runs before expand-products and
/// expand-dots, which write those by what multiply-adds can do, and before assign-layouts, which
/// lays the sums out as the instruction wants them.
void chooseUnits(ir::Kernel &kernel, const PassContext &context);

/// What a product would be of, if it were asked for.
struct UnitElements {
  ir::ElementKind element; ///< Of both operands.
  ir::Precision precision;
};
/// The machine's instruction that a dot of these would run on, were it no other than this one; null
/// where it would be multiply-adds.
const machine::MmaInstruction *unitFor(const ir::Kernel &kernel, const ir::Op &dot,
                                       const UnitElements &elements,
                                       const machine::Machine &machine);

} // namespace imbrex::passes
