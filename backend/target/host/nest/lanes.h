#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Value.h"

#include <cstdint>

/// The two currencies of code generation inside a loop: where (`Point`) and what (`Lanes`).
///
/// A body handles `width` neighbours along the nest's last axis at once. Whatever is the same for
/// all of them, or grows by a fixed step from one to the next, stays one scalar: only so is a load
/// of neighbours recognised as one vector load, and a value that does not depend on the inner index
/// computed outside the inner loop.
///
/// `depth` is the loop that a value changes with: -1 none, 0 the outermost, … Code for it is put
/// into that loop's body, in front of the loops inside.
namespace imbrex::host {

/// Elements of a tile, one per lane.
struct Lanes {
  llvm::Value *value = nullptr; // `isVector`: all of them; otherwise the first
  bool isVector = false;
  std::int64_t step = 0; // integers and pointers (bytes): lane l has value + l * step, wrapping
  std::int32_t depth = -1;

  bool isUniform() const { return !isVector && step == 0; }
};

/// An index along one axis, one per lane; i64.
struct Coordinate {
  llvm::Value *value = nullptr;
  bool isVector = false;
  std::int64_t step = 0;
  std::int32_t depth = -1;
  /// The first lane's index in the inner loop's first trip, if every trip just adds to it; else
  /// null.
  llvm::Value *start = nullptr;
  std::int32_t startDepth = -1;
  std::int64_t multiple = 1; // divides the first lane's index; 0: the index is 0

  bool operator==(const Coordinate &) const = default;
};

using Point = llvm::SmallVector<Coordinate, 5>;

} // namespace imbrex::host
