#pragma once

#include "backend/ir/kernel.h"
#include "llvm/ADT/ArrayRef.h"

#include <optional>

/// Matrices that lie in boxes of views: factors of products, and their sums. A box may have more
/// axes than its matrix, of one index each, which a reshape takes away or adds, and a permute may
/// move them:
///
///   %v = view.load %k, %batch, %n, %0 : f32[1x64x128]
///   %r = reshape %v : f32[64x128]
///   %b = permute %r [order = [1, 0]] : f32[128x64]     a factor, the transpose of these rows
namespace imbrex::host {

struct MatrixBox {
  const ir::Op *access; // the view.load or view.store
  size_t column;        // the axis of the box that these are along: the last
  /// Those of the others; none: there is one of them.
  std::optional<size_t> row = {}, batch = {};
  bool isTransposed = false; // what a product takes as b is the transpose of the matrix

  /// The axis along k, of b; that of a is its columns'.
  std::optional<size_t> depthOfB() const { return isTransposed ? column : row; }
};

/// The box that a factor of a product is, if it is used for nothing else; `uses` are counted by
/// value.
std::optional<MatrixBox> factorBox(const ir::Kernel &kernel, llvm::ArrayRef<std::int32_t> uses,
                                   const ir::Op &product, size_t factor);
/// The box that the sums of a product are stored to, if the store takes them and nothing else takes
/// what is made of them for it.
std::optional<MatrixBox> sumsBox(const ir::Kernel &kernel, llvm::ArrayRef<std::int32_t> uses,
                                 const ir::Op &store, ir::ValueId sums);

} // namespace imbrex::host
