#pragma once

#include "backend/target/host/dot/layout.h"
#include "backend/target/host/nest/control_flow.h"

#include <memory>
#include <optional>

/// The product of factors as they are wanted, micro-tile by micro-tile. How these follow each other
/// is the same for all of a processor's units; what one of them does is not.
namespace imbrex::host {

class DotProduct : public DotLayout {
public:
  DotProduct(llvm::IRBuilder<> &builder, const DotShape &shape, const VectorUnit &unit,
             const DotSums &sums, const std::optional<DotPieces> &pieces)
      : DotLayout(builder, shape, unit), sums_(sums), pieces_(pieces) {}
  virtual ~DotProduct() = default;

  void multiply(const DotOperand &a, const DotOperand &b);

protected:
  struct MicroTile {
    llvm::Value *firstRow, *firstColumn;
    std::int64_t rows, columns, vectors;
  };
  /// The factors and sums of one matrix of the batch, or of a slice of its k.
  struct Matrices {
    DotOperand a, b, from, to;
    llvm::Value *areNew; // see DotSums
  };
  /// In front of all of a matrix' micro-tiles.
  virtual void beginMatrix(const Matrices &) {}
  /// How many elements of copies a last depth has.
  virtual llvm::Value *lastWords();
  /// rows x columns sums over all of k.
  virtual void emitMicroTile(const Matrices &matrices, const MicroTile &tile) = 0;

  /// The factors of a piece, and how many elements of copies it has of k (null: all of a slice).
  struct Piece {
    DotOperand a, b;
    llvm::Value *depth = nullptr;
  };
  using PieceBody =
      llvm::function_ref<Carried(const Piece &piece, llvm::ArrayRef<llvm::Value *> carried)>;
  Carried forEachPiece(const Matrices &matrices, const Carried &initial, PieceBody body);
  Piece lastPiece(const Matrices &matrices);
  /// The first row of a micro-tile in a panel of this part.
  llvm::Value *panelOf(const DotOperand &b, DotPart part, const MicroTile &tile);

  const DotSums sums_;
  const std::optional<DotPieces> pieces_;

private:
  void multiplyMatrix(const Matrices &matrices);
  void multiplySlices(const Matrices &matrices);
  bool hasNearPanels() const;
  Piece pieceAt(const Matrices &matrices, llvm::Value *number);
  llvm::Value *depthOf(llvm::Value *piece);
};

/// By multiply-adds of vectors.
std::unique_ptr<DotProduct> productOnVectors(llvm::IRBuilder<> &builder, const DotShape &shape,
                                             const VectorUnit &unit, const DotSums &sums,
                                             const std::optional<DotPieces> &pieces);
/// In AMX's tiles, between emitAmxStart and emitAmxEnd.
std::unique_ptr<DotProduct> productOnAmx(llvm::IRBuilder<> &builder, const DotShape &shape,
                                         const VectorUnit &unit, const DotSums &sums,
                                         const std::optional<DotPieces> &pieces);

} // namespace imbrex::host
