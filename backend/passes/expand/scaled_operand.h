#pragma once

#include "backend/ir/builder.h"
#include "backend/ir/products.h"

/// Operands of `dot_scaled` in other elements.
namespace imbrex::passes::expand {

/// An operand (0 or 1) of a scaled product, each element times its scale, as `to`: a float of 16
/// bits or more. A float of 8 or 4 bits times its scale is exact in f64. In bf16, by way of f32,
/// and in f32 it is so as far as their ranges go.
ir::ValueId scaledOperand(ir::Builder &build, const ir::Op &product, std::size_t operand,
                          ir::ElementKind to);

/// An operand of f4e2m1 as bytes, each with two of them that are neighbours along k.
ir::ValueId packedOperand(ir::Builder &build, const ir::Op &product, std::size_t operand);

} // namespace imbrex::passes::expand
