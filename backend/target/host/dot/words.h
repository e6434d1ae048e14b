#pragma once

#include "backend/target/host/dot/dot.h"
#include "llvm/IR/IRBuilder.h"

#include <cstdint>

/// Products of bytes, of bf16 and of f16 with sums of 32 bits, some steps of k at a time: those
/// that lie beside each other in a word of either factor. Words of two rows and of two columns are
/// what a matrix instruction of AArch64 takes, which adds to 2 x 2 sums.
///
/// Of bytes all is exact, modulo 2^32. Where one factor must be without a sign and the other with
/// one (WordProduct::UnsignedSigned), a is moved by 128 into the other kind, and the sums begin
/// with what that adds: 128 times the sums of b's columns, which depend on no row.
///
/// AMX multiplies 16 words of k at once, by instructions of its own (product.h).
///
/// Of bf16, which narrower floats become without rounding, and of f16 each product is exact. On x86
/// each sum is rounded, as if added up one by one in either order; AArch64 adds up two products and
/// adds that to the sum, both rounded to odd: the latter errs no more than two sums that are
/// rounded to nearest, the former by at most 2^-23 of the products. Subnormal numbers, elements and
/// sums alike, are taken for zeros (Intel SDM, VDPBF16PS, TDPBF16PS; Arm ARM, BFMMLA), but for
/// elements of f16 (Intel SDM, TDPFP16PS).
namespace imbrex::host {

class WordProducts {
public:
  WordProducts(llvm::IRBuilder<> &builder, const DotShape &shape, const VectorUnit &unit)
      : b_(builder), isSigned_(ir::isSigned(shape.a)), kind_(kindFor(shape, unit)),
        lanes_(unit.lanes(32)) {}

  /// How factors with such elements are multiplied.
  static WordProduct kindFor(const DotShape &shape, const VectorUnit &unit);
  static bool isOnAmx(WordProduct kind) {
    return kind == WordProduct::AmxBytes || kind == WordProduct::AmxBf16 ||
           kind == WordProduct::AmxF16;
  }
  static bool isOnMatrices(WordProduct kind) {
    return kind == WordProduct::MatrixBytes || kind == WordProduct::MatrixBf16;
  }
  /// What a word is: as large as a sum, or as two.
  static ir::ElementKind wordFor(WordProduct kind, const DotShape &shape);
  /// Steps of k in a word.
  static std::int64_t together(WordProduct kind);
  /// What copies are of: a part of a word, or one as the sums are.
  static ir::ElementKind copiedFor(WordProduct kind, const DotShape &shape);

  /// Whether words of a are as a's elements lie in memory, if these fill them.
  static bool takesA(WordProduct kind, const DotShape &shape);
  /// Elements of a as they are copied.
  llvm::Value *ofA(llvm::Value *elements);
  /// Rows of b, one for each step of a word, word by word.
  llvm::Value *interleaved(llvm::ArrayRef<llvm::Value *> rows);
  /// sum + x · y, of words of a and b. Of matrices x has words of two rows, y of two columns, and
  /// the sums are those of the first row and then of the second.
  llvm::Value *multiplyAdd(llvm::Value *x, llvm::Value *y, llvm::Value *sum);

  bool needsCorrection() const { return kind_ == WordProduct::UnsignedSigned; }
  /// The sum of a column's words so far and of one more.
  llvm::Value *addColumn(llvm::Value *sum, llvm::Value *y);
  /// What sums begin with, of the sum of a column.
  llvm::Value *correction(llvm::Value *column);

private:
  llvm::Value *pieces(llvm::Value *words);
  llvm::Value *splat(std::uint32_t word);

  llvm::IRBuilder<> &b_;
  bool isSigned_;
  WordProduct kind_;
  std::int32_t lanes_;
};

} // namespace imbrex::host
