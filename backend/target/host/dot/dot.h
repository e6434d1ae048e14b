#pragma once

#include "backend/ir/attributes.h"
#include "backend/ir/types.h"
#include "backend/target/host/vector_unit.h"
#include "llvm/IR/IRBuilder.h"

#include <cstdint>
#include <optional>

/// The matrix product of the host target, by register blocking and packing.
///
/// accumulator[m][n] += sum over k of a[m][k] b[k][n], per batch. Three levels, from the inside:
///
///   micro-tile   rows x (vectors * lanes) sums stay in registers for all of k; each step of k
///                loads a few vectors of b and multiplies them with one broadcast element of a per
///                row; matrix instructions multiply two columns of b with two rows of a (words.h).
///   panel        b is copied first, panel by panel: the columns of a micro-tile side by side for
///                all of k; or read where it is, if its rows are near each other. So the inner loop
///                reads b in order, whatever b's row stride. A panel stays in the first-level cache
///                while all rows of a pass over it; panels of deeper products do not, and a
///                micro-tile's rows of a stay there while all panels pass.
///   tile         one dot of Block IR, or the dots of several trips of a loop, which are then
///                *pieces* of one deeper product. The accumulator is read and written once.
///
/// a is read where it is when its elements are already those of the sum, or fill words that the
/// processor multiplies as they are: of bytes, bf16 and f16 a word of a or of a panel may have
/// several steps of k (words.h). Otherwise (other narrow types, tf32, split precisions) its rows
/// are copied into scratch first, and converted. Where a has so few rows that one micro-tile has
/// them all, each row of b is wanted once, and b is read where it is as well.
///
/// The scheme is that of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication"
/// (ACM TOMS 34, 2008), with the two outer loops left to the kernel's author.
namespace imbrex::host {

struct DotShape {
  std::int64_t batch = 1; // 1 for a dot of rank 2
  std::int64_t m, n, k;
  ir::ElementKind a, b, sum;
  ir::Precision precision = ir::Precision::Ieee;
  bool isTransposedB = false; // b is given as n x k
};

/// A matrix in memory: element (i, j) of batch s is at data + s batchStride + i rowStride + j, in
/// elements. Strides are i64 values. An f4e2m1 takes a byte here. Of panels, whose columns side by
/// side are those of a micro-tile, each panel begins `columnStride` a column behind the first.
struct DotOperand {
  llvm::Value *data;
  llvm::Value *rowStride;
  llvm::Value *batchStride;
  llvm::Value *columnStride = nullptr;
  /// Where the panels lie that are multiplied after these: a product of vectors prefetches as many
  /// bytes from there as these have. Null: nothing.
  llvm::Value *next = nullptr;
};

/// Whether the product is of panels; else of b itself.
bool wantsPanels(const DotShape &shape, const VectorUnit &unit);
/// Whether a product that wants panels takes columns of b itself for them just as well. They have
/// a column stride of 1 then.
bool takesPanelsInPlace(const DotShape &shape, const VectorUnit &unit);
/// Whether the product is of copied rows; else of a itself, unless rows are copied all the same.
bool wantsRows(const DotShape &shape, const VectorUnit &unit);
/// Of how many steps of k the depth of a itself has to be a multiple.
std::int64_t stepsTogether(const DotShape &shape, const VectorUnit &unit);
/// Whether it is in AMX's tiles: its code has to run between emitAmxStart and emitAmxEnd, and reads
/// all rows of a micro-tile of a, wanted or not.
bool isOnAmx(const DotShape &shape, const VectorUnit &unit);
void emitAmxStart(llvm::IRBuilder<> &builder);
void emitAmxEnd(llvm::IRBuilder<> &builder);
/// Bytes of the panels of one b, and of the copied rows of one a; both are aligned to 64.
std::int64_t dotPanelBytes(const DotShape &shape, const VectorUnit &unit);
std::int64_t dotRowBytes(const DotShape &shape, const VectorUnit &unit);

/// Append the copying of b into panels, and of a's rows; returns the copy as the product takes it.
DotOperand emitDotPanels(llvm::IRBuilder<> &builder, const DotShape &shape, const VectorUnit &unit,
                         const DotOperand &b, llvm::Value *panels);
DotOperand emitDotRows(llvm::IRBuilder<> &builder, const DotShape &shape, const VectorUnit &unit,
                       const DotOperand &a, llvm::Value *rows);
/// What emitDotPanels returns, of panels that are there.
DotOperand dotPanelsAt(llvm::IRBuilder<> &builder, const DotShape &shape, const VectorUnit &unit,
                       llvm::Value *panels);
DotOperand dotRowsAt(llvm::IRBuilder<> &builder, const DotShape &shape, const VectorUnit &unit,
                     llvm::Value *rows);

/// How many products of the shape are one, each `shape.k` deeper in than the one before, and how
/// many bytes apart their parts of a and their panels are.
struct DotPieces {
  llvm::Value *count; // i64, from 1
  llvm::Value *strideA, *strideB;
  /// How much of k the last has, i64 from 1: behind that, up to a whole word, nothing is read.
  /// Null: all.
  llvm::Value *lastDepth = nullptr;
  /// Scratch of `dotEndBytes`, where there is a last depth.
  llvm::Value *end = nullptr;
};
/// Of a last depth that is no whole number of tiles, AMX wants what is left of a's rows copied.
std::int64_t dotEndBytes(const DotShape &shape, const VectorUnit &unit);
/// Whether a product may have more than one: it is of panels, and its sums go one way.
bool canHavePieces(const DotShape &shape, const VectorUnit &unit);

/// The sums that a product is added to. Where `areNew` holds, they are 0 whatever is in memory.
struct DotSums {
  DotOperand at;
  DotOperand to;                 ///< Where they are written; `at`, if nowhere else.
  llvm::Value *areNew = nullptr; // i1; null: nowhere
  /// How many are wanted, i64 from 1: the others may be anything, and of rows behind the last
  /// wanted one a product of pieces does not read a itself. Null: all.
  llvm::Value *rows = nullptr, *columns = nullptr;
};

/// Append the product, of factors as they are wanted, to the builder's block; the builder ends up
/// in the block after it. The sums must not overlap the factors.
void emitDot(llvm::IRBuilder<> &builder, const DotShape &shape, const VectorUnit &unit,
             const DotOperand &a, const DotOperand &b, const DotSums &sums,
             const std::optional<DotPieces> &pieces = std::nullopt);

} // namespace imbrex::host
