#pragma once

#include "backend/ir/types.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace imbrex::interpret {

/// What an SSA value holds while a block runs: a tile of elements, a tile of pointers, or a view.
struct Value {
  ir::Shape shape;
  /// Row-major: an element's bits, zero-extended; a pointer's address.
  std::vector<std::uint64_t> bits;
  /// Of pointers, views and tables: the piece of memory that each came from
  /// (interpret/argument_memory.h). An access is checked against that alone, so that a pointer
  /// which strays into another buffer is found too.
  std::vector<std::int32_t> origins;

  /// The element at a row-major position; a scalar is the same everywhere.
  std::uint64_t at(std::int64_t position) const { return bits[slot(position)]; }
  std::int32_t origin(std::int64_t position) const { return origins[slot(position)]; }

private:
  size_t slot(std::int64_t position) const {
    return bits.size() == 1 ? 0 : static_cast<size_t>(position);
  }
};

using Index = llvm::SmallVector<std::int64_t, ir::Shape::kMaxRank>;

/// The index of a row-major position, and back.
Index indexAt(const ir::Shape &shape, std::int64_t position);
std::int64_t positionOf(const ir::Shape &shape, const Index &index);

/// `3, 0`
std::string toText(const Index &index);

/// A tile of `shape` whose element at an index is that of `from` at `source(index)`.
template <class Source>
Value rearranged(const Value &from, const ir::Shape &shape, const Source &source) {
  Value result{shape, {}, {}};
  const std::int64_t count = shape.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t position = positionOf(from.shape, source(indexAt(shape, i)));
    result.bits.push_back(from.at(position));
    if (!from.origins.empty()) result.origins.push_back(from.origin(position));
  }
  return result;
}

} // namespace imbrex::interpret
