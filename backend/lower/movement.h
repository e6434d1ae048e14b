#pragma once

#include "backend/ir/kernel.h"
#include "backend/layout/tile_layout.h"

#include <optional>

/// Ops that only move elements: where each element of the result comes from.
namespace imbrex::lower {

/// source = matrix * result ^ constant, on packed coordinates. All moves of tiles whose extents are
/// powers of two are of this form, and many others.
struct AffineMove {
  llvm::SmallVector<layout::Bits, 16> columns; // a column per bit of the result's coordinates
  layout::Bits constant = 0;
};

/// How an op moves its only operand's elements to a result, if it does so affinely: broadcast (of
/// tiles), reshape, permute, split, flip, convert_layout.
std::optional<AffineMove> affineMove(const ir::Kernel &kernel, const ir::Op &op,
                                     std::size_t result);

/// The coordinates, in the source, of what each place of the result wants; the constant left out.
layout::LinearLayout wantedLayout(const AffineMove &move, const layout::LinearLayout &result,
                                  const layout::LinearLayout &source);

} // namespace imbrex::lower
