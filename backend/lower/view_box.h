#pragma once

#include "backend/lower/access.h"

namespace imbrex::lower {

/// A box of a view, as one op touches it: where each element lies and whether it is inside.
class ViewBox {
public:
  /// `tile`: what the box holds; its layout says which thread touches what. `firstCoordinate`: the
  /// op's operand that says where the box begins along axis 0.
  ViewBox(Emitter &emitter, const ir::Op &op, ir::ValueId tile, std::size_t firstCoordinate);

  /// The access whose first element is in register `r`.
  Access at(std::size_t r, std::size_t width);
  /// i64: how many elements it lies from the view's first; for elements that share a byte.
  llvm::Value *elementAt(std::size_t r);
  /// Whether it is inside the view and no padding; null where it always is.
  llvm::Value *isInside(std::size_t r);

private:
  struct Axis {
    llvm::Value *thread; // i64: the thread's part of the distance from the box's start, in elements
    llvm::Value *low;    // i32: the box's first and number of indices that lie in the view
    llvm::Value *count;
  };
  void addAxis(const ir::Op &op, std::int32_t axis, llvm::Value *coordinate, ir::ElementKind kind);

  Emitter &e_;
  const ViewValues &view_;
  const layout::LinearLayout *layout_; // null for a box of one element, which is a scalar
  ir::Shape shape_;
  std::int64_t bits_;  // of an element
  llvm::Value *start_; // i64: elements from the view's first to the box's
  bool isUnit_;        // neighbours on the last axis adjoin
  llvm::SmallVector<Axis, 5> axes_;
};

} // namespace imbrex::lower
