#pragma once

#include "backend/ir/types.h"

#include <array>
#include <string>
#include <string_view>

namespace imbrex::ir {

/// A tile that a kernel prints: its elements' bits, zero-extended, in row-major order.
struct PrintedTile {
  Type type;
  llvm::ArrayRef<std::uint64_t> bits;
};

/// The line that the op `print` writes on every device, without its line end.
///
///   [pid 3,0,0] row sums: [1.5, -0, inf], true, [[1, 2], [3, 4]]
///
/// An element stands as a constant does in the text form of the IR, a NaN always as `nan`; axes
/// nest in brackets, and a scalar has none.
std::string printLine(const std::array<std::int32_t, 3> &programId, std::string_view text,
                      llvm::ArrayRef<PrintedTile> tiles);

/// Where an assert failed: `at tile index [3] of block [0, 0, 0]`, of a scalar `in block …`.
/// `element`: its row-major index in the tile.
std::string elementPlace(const Shape &shape, std::int64_t element,
                         const std::array<std::int32_t, 3> &programId);

} // namespace imbrex::ir
