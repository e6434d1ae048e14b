#pragma once

#include "backend/analysis/whole_trips.h"
#include "backend/lower/memory/global_access.h"
#include "backend/lower/memory/view_box.h"

#include <map>
#include <utility>
#include <vector>

namespace imbrex::lower {

/// The copies, or loads, of a loop's whole trips (analysis/whole_trips.h). Where boxes lie goes on
/// from trip to trip: each row of a box that a thread copies has a pointer, to which one number is
/// added, and the rest of the row is so many bytes behind it. Of a buffer the box has one distance.
///
///   before        count = …                   // trips
///                 row0 = …, row1 = …          // of the first trip
///   loop          p0 = phi(row0, …), p1 = phi(row1, …)
///                 copy from p0, p0 + 128, p1, p1 + 128
///                 p0 += step, p1 += step
class WholeCopies {
public:
  /// Emits in front of the loop where the first trip's boxes are.
  WholeCopies(Emitter &emitter, const ir::Op &loop, analysis::WholeTrips trips);

  /// How many trips are whole, of so many: i32.
  llvm::Value *count(llvm::Value *trips);

  /// Trips are whole up to this number of them, i32; without it, all that the loop has.
  void isWholeBefore(llvm::Value *count) { count_ = count; }
  /// Whether the present trip is whole: i1; null, where all are.
  llvm::Value *isWhole() { return isWhole_; }

  /// Where there are any: the first trip's pointers. No code behind the loop keeps them.
  void begin();
  /// At the head of the loop: pointers of the present trip, which has this number.
  void enter(llvm::BasicBlock *before, llvm::Value *trip);
  /// On to the next trip.
  void advance();
  /// At the end of the loop's body, which goes back to its head.
  void repeat();

  /// Where a copy's or load's elements come from that begin in a register.
  GlobalAccess at(const ir::Op &op, std::size_t r, std::size_t width);
  bool has(const ir::Op &op) const { return boxes_.contains(&op); }

private:
  struct Row {
    llvm::Value *first; // of the first trip: a pointer; or in a buffer, i32, for the whole box
    llvm::Value *step;  // in bytes
    llvm::PHINode *head = nullptr;
    llvm::Value *now = nullptr;
  };
  /// Of a copy: by the registers' part of the coordinates that a pointer is for.
  using RowOf = std::map<layout::Bits, std::size_t>;

  bool isByBuffer(const ir::Op &op) const;
  void addRows(const analysis::MovingBox &box);
  llvm::Value *stepOf(const analysis::MovingBox &box);
  llvm::Value *countOf(const analysis::MovingBox &box, std::int32_t axis);
  ir::Shape shapeOf(const ir::Op &box) const;
  std::int64_t unitOf(const ir::Op &box, std::int32_t axis) const;

  Emitter &e_;
  analysis::WholeTrips trips_;
  std::map<const ir::Op *, ViewBox> boxes_;
  std::map<const ir::Op *, RowOf> rowOf_;
  std::vector<Row> rows_;
  llvm::Value *count_ = nullptr, *isWhole_ = nullptr;
};

} // namespace imbrex::lower
