#pragma once

#include "backend/ir/types.h"
#include "backend/target/host/vector_unit.h"
#include "llvm/IR/IRBuilder.h"

#include <cstdint>

/// Products of bytes with sums of 32 bits, some steps of k at a time: those that lie beside each
/// other in a word of either factor, as two integers of 16 bits or as four bytes. All is exact,
/// modulo 2^32.
///
/// Where one factor must be without a sign and the other with one (ByteProduct::UnsignedSigned), a
/// is moved by 128 into the other kind, and the sums begin with what that adds: 128 times the sums
/// of b's columns, which depend on no row.
namespace imbrex::host {

class ByteProducts {
public:
  /// How a and b, both of one kind of byte, are multiplied.
  ByteProducts(llvm::IRBuilder<> &builder, ir::ElementKind element, const VectorUnit &unit)
      : b_(builder), isSigned_(ir::isSigned(element)), kind_(unit.byteProduct),
        lanes_(unit.lanes(32)) {}

  /// Steps of k in a word.
  static std::int64_t together(ByteProduct kind);

  /// Converted bytes of a as they are copied, and those of b.
  llvm::Value *ofA(llvm::Value *bytes);
  /// Rows of b, one for each step of a word, word by word.
  llvm::Value *interleaved(llvm::ArrayRef<llvm::Value *> rows);
  /// sum + x · y, of words of a and b.
  llvm::Value *multiplyAdd(llvm::Value *x, llvm::Value *y, llvm::Value *sum);

  bool needsCorrection() const { return kind_ == ByteProduct::UnsignedSigned; }
  /// The sum of a column's words so far and of one more.
  llvm::Value *addColumn(llvm::Value *sum, llvm::Value *y);
  /// What sums begin with, of the sum of a column.
  llvm::Value *correction(llvm::Value *column);

private:
  llvm::Value *pieces(llvm::Value *words);
  llvm::Value *splat(std::uint32_t word);

  llvm::IRBuilder<> &b_;
  bool isSigned_;
  ByteProduct kind_;
  std::int32_t lanes_;
};

} // namespace imbrex::host
