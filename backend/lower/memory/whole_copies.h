#pragma once

#include "backend/analysis/whole_trips.h"
#include "backend/lower/memory/global_access.h"
#include "backend/lower/memory/view_box.h"

#include <map>
#include <utility>
#include <vector>

namespace imbrex::lower {

/// The copies, or loads, of a loop's whole trips (analysis/whole_trips.h). Where boxes lie goes on
/// from trip to trip. Along an axis whose elements are side by side, each row of a box that a
/// thread copies has a pointer, to which one number is added, and the rest of the row is so many
/// bytes behind it. Of a buffer the box has one distance.
///
///   before        count = …                   // trips
///                 row0 = …, row1 = …          // of the first trip
///   loop          p0 = phi(row0, …), p1 = phi(row1, …)
///                 copy from p0, p0 + 128, p1, p1 + 128
///                 p0 += step, p1 += step
///
/// Along other axes the step is no constant, and a pointer for each row takes two additions of 32
/// bits. There the box has one distance of 32 bits, counted in copies, to which the step is added;
/// one instruction puts it, times a copy's bytes, behind where a row begins. It begins with the
/// thread's place within a row: of what all threads have in common an assembler may take the
/// product on registers of the warp, which that instruction does not add to a pointer.
///
///   before        row0 = …, row1 = …          // of the first trip, where the rows begin
///   loop          d = phi(thread's, …)
///                 copy from row0 + 16 d, row0 + 16 d + 128, row1 + 16 d, row1 + 16 d + 128
///                 d += step / 16
///
/// Where there is a body for each slot (ring_turn.h), pointers are as short.
class WholeCopies {
public:
  /// Emits in front of the loop where the first trip's boxes are.
  WholeCopies(Emitter &emitter, const ir::Op &loop, analysis::WholeTrips trips, bool hasOneBody);

  /// How many trips are whole, of so many: i32.
  llvm::Value *count(llvm::Value *trips);

  /// Trips are whole up to this number of them, i32; without it, all that the loop has.
  void isWholeBefore(llvm::Value *count) { count_ = count; }
  /// The loop's.
  ir::ValueId index() const { return index_; }
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
  /// What a trip adds to.
  struct Moving {
    llvm::Value *first; // of the first trip: a row's pointer; or of a whole box a distance, i32
    llvm::Value *step;  // in bytes; of a distance in its units
    llvm::PHINode *head = nullptr;
    llvm::Value *now = nullptr;
  };
  struct Row {
    std::size_t moving;
    llvm::Value *base = nullptr; // what the distance is behind; null: there is a pointer
  };
  /// Of a copy: by the registers' part of the coordinates that a row is for.
  using RowOf = std::map<layout::Bits, Row>;

  bool isByBuffer(const ir::Op &op) const;
  bool isByDistance(const analysis::MovingBox &box) const;
  void addBox(const analysis::MovingBox &box);
  void addRows(const ir::Op &op, llvm::Value *step);
  void addRowsByDistance(const ir::Op &op, llvm::Value *step);
  llvm::Value *isInReach(const ir::Op &op, std::size_t axis);
  llvm::Value *stepOf(const analysis::MovingBox &box);
  llvm::Value *countOf(const analysis::MovingBox &box, std::int32_t axis);
  ir::Shape shapeOf(const ir::Op &box) const;
  std::int64_t unitOf(const ir::Op &box, std::int32_t axis) const;

  Emitter &e_;
  analysis::WholeTrips trips_;
  ir::ValueId index_;
  bool hasOneBody_;
  std::map<const ir::Op *, ViewBox> boxes_;
  std::map<const ir::Op *, RowOf> rowOf_;
  std::vector<Moving> moving_;
  llvm::Value *count_ = nullptr, *isWhole_ = nullptr;
};

} // namespace imbrex::lower
