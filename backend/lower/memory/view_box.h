#pragma once

#include "backend/lower/memory/global_access.h"

namespace imbrex::lower {

/// Where a box begins: a coordinate for each axis of a view.
struct BoxStart {
  ir::ValueId view;
  llvm::ArrayRef<ir::ValueId> coordinates;
  ir::BoxUnit unit;
};

/// A coordinate as i64 elements. Beyond 2^62 and a large multiple of any box nothing is inside a
/// view; no product overflows.
llvm::Value *startInElements(Emitter &emitter, ir::ValueId coordinate, std::int64_t unit);

/// Whether elements that differ by one along an axis of a view are side by side in memory.
bool hasNeighbours(const Emitter &emitter, ir::ValueId view, std::int32_t axis);

/// A box of a view, as one op touches it: where each element lies and whether it is inside.
class ViewBox {
public:
  /// `layout` says which thread touches what; null for one element.
  ViewBox(Emitter &emitter, const BoxStart &start, const ir::Shape &shape,
          const layout::LinearLayout *layout);
  /// `tile`: what the box holds; its layout says which thread touches what. `firstCoordinate`: the
  /// op's operand that says where the box begins along axis 0.
  ViewBox(Emitter &emitter, const ir::Op &op, ir::ValueId tile, std::size_t firstCoordinate);

  /// The access whose first element is in register `r`; of whole bytes.
  GlobalAccess at(std::size_t r, std::size_t width);
  /// i64: how many elements it lies from the view's first; for one that shares its byte.
  llvm::Value *elementAt(std::size_t r);
  /// Whether it is inside the view and no padding; null where it always is.
  llvm::Value *isInside(std::size_t r);

  /// The address of `at` in two parts: that of a row, which all registers with the same number have
  /// in common, and how many bytes behind it the element lies. Of elements of whole bytes.
  layout::Bits rowOf(std::size_t r);
  llvm::Value *rowAddress(std::size_t r);
  std::int64_t bytesInRow(std::size_t r);
  /// The address of a row in two parts again: for a thread whose first element is the row's, and
  /// how many bytes behind that a thread's lies, i64.
  llvm::Value *beginOfRow(std::size_t r);
  llvm::Value *bytesOfThreadInRow();
  /// Elements along an axis as a distance in memory, in elements.
  llvm::Value *scaled(std::int32_t axis, llvm::Value *elements);

  /// Whether 32 bits hold the distance of each element that is inside from the view's first, on a
  /// machine that has buffers. Boxes that begin in front of it have others.
  bool isInReach() const { return isInReachAsAWhole() && !mayBeInFront_; }
  /// The same of a box that is known to be inside.
  bool isInReachAsAWhole() const;
  /// Where the box begins, in bytes, i32; and a register's place in one that begins elsewhere and
  /// is inside as a whole.
  llvm::Value *startInBuffer() { return bytes(start_); }
  Vocabulary::BufferPlace wholeInBuffer(std::size_t r, llvm::Value *start);
  /// The same as an address: of one that all threads have in common, 32 bits, and a constant, as
  /// one instruction adds them.
  llvm::Value *wholeAddress(std::size_t r, llvm::Value *start);

private:
  /// Where the box begins along an axis, in elements.
  struct Start {
    llvm::Value *wide;   // i64
    llvm::Value *narrow; // i32, unsigned, the same number; null where it may be none
  };
  /// The indices of the box that lie in the view: i32, for the box is small.
  struct Bounds {
    llvm::Value *first; // null: 0
    llvm::Value *count;
    bool change = false; // perhaps, with the trips of the loop around
  };
  llvm::Value *isInside(std::size_t r, std::int32_t axis);
  llvm::Value *beyond(std::size_t r, std::int32_t axis);
  Vocabulary::BufferPlace inBuffer(std::size_t r);
  llvm::Value *bytes(llvm::Value *elements);
  void addAxis(std::int32_t axis, ir::ValueId coordinate, std::int64_t unit);
  bool hasNeighbours(std::int32_t axis) const;
  llvm::Value *distance(std::size_t r);
  llvm::Value *toRow(std::size_t r);
  /// So many elements behind a place. Of those that share bytes an even number: what accesses begin
  /// with, and are apart.
  llvm::Value *behind(llvm::Value *place, llvm::Value *elements);
  Start startOf(ir::ValueId coordinate, std::int64_t unit);
  Bounds boundsOf(const Start &start, llvm::Value *extent, std::int64_t length);

  Emitter &e_;
  ir::ValueId viewId_;
  const ViewValues &view_;
  const layout::LinearLayout *layout_; // null for a box of one element, which is a scalar
  ir::Shape shape_;
  std::int64_t bits_;    // of an element
  llvm::Value *start_;   // i64: elements from the view's first to the box's
  llvm::Value *threads_; // i64: from there to the thread's first
  llvm::Value *inRow_;   // i64: of that, what is within a row
  llvm::Value *base_;    // the address of the thread's first
  llvm::Value *loadsIf_; // as Emitter's, as long as no axis has it
  analysis::ParameterAssumptions assumed_;
  llvm::SmallVector<Bounds, 5> bounds_; // by axis
  bool mayBeInFront_ = false;           // of the view's first element
};

} // namespace imbrex::lower
