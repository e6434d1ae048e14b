#pragma once

#include "backend/target/host/dot/dot.h"
#include "backend/target/host/dot/operands.h"
#include "backend/target/host/dot/words.h"

#include <utility>
#include <vector>

/// How a dot is cut for the registers, and where its copies lie in scratch.
namespace imbrex::host {

/// On AMX a micro-tile has so many tiles of sums beside each other, and below each other.
inline constexpr std::int64_t kAmxAcross = 2;

/// One pass of a micro-tile over k: products of these parts of a and b, all into the same sums.
using Sweep = std::vector<std::pair<DotPart, DotPart>>;

struct DotPlan {
  std::vector<Sweep> sweeps;
  std::vector<DotPart> partsA, partsB; // copied to scratch, each part once
  bool wantsRows;                      // copied ones of a; else a is read where it is
  bool wantsPanels;                    // of b; else b is read where it is
  std::int64_t lanes;                  // columns of a vector of sums
  std::int64_t rowsTogether;           // and rows of it: one or two
  std::int64_t vectors;                // beside each other in a micro-tile
  std::int64_t rows;                   // of a micro-tile
  std::int64_t rowsInHalves;           // at the end of m, in micro-tiles of half as many
  std::int64_t panelColumns() const { return lanes * vectors; }
  std::int64_t together;  // steps of k in an element of a copy
  ir::ElementKind copied; // what copies are of
  std::int64_t depth;     // of a copy, in its elements
  std::int64_t slice;     // of the depth, that all micro-tiles multiply before the next
  ir::ElementKind word;   // such an element of panels: as large as a sum, or as two
  std::int64_t wordBytes() const { return ir::info(word).bits / 8; }
  std::int64_t bytesA;          // of one part
  std::int64_t bytesB;          // of one part: all panels
  std::int64_t bytesCorrection; // of all columns' sums
  std::int64_t bytesRows() const { return std::ssize(partsA) * bytesA; }
  std::int64_t bytesPanels() const { return std::ssize(partsB) * bytesB + bytesCorrection; }
};

DotPlan planDot(const DotShape &shape, const VectorUnit &unit);

/// Addresses in the copies of a plan, and in matrices elsewhere.
class DotLayout {
public:
  DotLayout(llvm::IRBuilder<> &builder, const DotShape &shape, const VectorUnit &unit);

  /// The copies that lie there, as a product takes them: rows in elements of `copied`, panels in
  /// words.
  DotOperand rowsAt(llvm::Value *rows);
  DotOperand panelsAt(llvm::Value *panels);

protected:
  void forEachMatrix(llvm::function_ref<void(llvm::Value *batch)> each);
  void forEachPanel(llvm::function_ref<void(llvm::Value *firstColumn, std::int64_t columns)> each);
  /// `each` for whole units of what lies between, and for the rest; none that begins behind what is
  /// wanted (null: all of it).
  void forEachUnit(std::int64_t begin, std::int64_t end, std::int64_t unit, llvm::Value *wanted,
                   llvm::function_ref<void(llvm::Value *first, std::int64_t count)> each);
  /// Columns of a panel with those that fill it up.
  std::int64_t widthOf(std::int64_t columns) const;
  DotOperand atBatch(const DotOperand &operand, llvm::Value *batch, ir::ElementKind kind);
  llvm::Value *bytesInto(llvm::Value *memory, llvm::Value *bytes);
  llvm::Value *at(llvm::Value *base, llvm::Value *elements, ir::ElementKind kind);
  llvm::Value *partOfA(llvm::Value *rows, DotPart part);
  llvm::Value *partOfB(llvm::Value *panels, DotPart part);
  /// Each panel is as wide as its columns, but the last may be short.
  llvm::Value *panelOf(llvm::Value *panels, DotPart part, llvm::Value *firstColumn);
  llvm::Value *rowOfPanel(llvm::Value *panel, llvm::Value *k, std::int64_t columns);
  /// What sums of these columns begin with.
  llvm::Value *correctionsOf(llvm::Value *panels, llvm::Value *firstColumn);
  /// Of a panel.
  llvm::Type *vectorType();
  std::int64_t sumBytes() const { return ir::info(shape_.sum).bits / 8; }
  std::int64_t copiedBytes() const { return ir::info(plan_.copied).bits / 8; }
  llvm::Align elementAlign() const { return llvm::Align(static_cast<std::uint64_t>(sumBytes())); }
  llvm::ConstantInt *i64(std::int64_t value) {
    return b_.getInt64(static_cast<std::uint64_t>(value));
  }

  llvm::IRBuilder<> &b_;
  const DotShape &shape_;
  const DotPlan plan_;
  WordProducts words_; // where several steps are together
};

} // namespace imbrex::host
