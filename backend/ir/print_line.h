#pragma once

#include <array>
#include <string>
#include <string_view>

#include "backend/ir/types.h"

namespace imbrex::ir {

/// A tile that a kernel prints: its elements' bits, zero-extended, or addresses, in row-major
/// order.
struct PrintedTile {
  Type type;
  llvm::ArrayRef<std::uint64_t> bits;
};

/// The line that the op `print` writes on every device, without its line end.
///
///   [pid 3,0,0] row sums: [1.5, -0, inf], true, [[1, 2], [3, 4]]
///
/// Integers are decimal, floats the shortest text that reads back as the same f32 (f64 for f64),
/// pointers hexadecimal; axes nest in brackets, and a scalar has none.
std::string printLine(const std::array<std::int32_t, 3> &programId, std::string_view text,
                      llvm::ArrayRef<PrintedTile> tiles);

/// One element as it stands in such a line.
std::string elementText(ElementKind kind, std::uint64_t bits);

} // namespace imbrex::ir
