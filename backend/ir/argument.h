#pragma once

#include "backend/ir/types.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace imbrex::ir {

/// One argument of a launch, as every executor on this machine takes it; the parameter's type says
/// which fields count.
struct Argument {
  /// The caller gave a bare pointer: nobody can check accesses.
  static constexpr std::int64_t kUnknownSize = -1;

  std::uint64_t scalar = 0;                            // a scalar: its bits, zero-extended
  std::byte *data = nullptr;                           // a pointer, a view: the first element
  std::int64_t bytes = kUnknownSize;                   // bytes that may be touched from `data` on
  std::uint8_t *unwritten = nullptr;                   // null, or a flag per byte of `bytes`: not 0
                                                       // while nothing has written the byte
  std::array<std::int64_t, Shape::kMaxRank> extents{}; // a view: in elements
  std::array<std::int64_t, Shape::kMaxRank> strides{}; // a view: in elements
};

/// The number of blocks along x, y, z.
struct Grid {
  std::array<std::int32_t, 3> extents{1, 1, 1};
  std::int64_t blocks() const { return std::int64_t{extents[0]} * extents[1] * extents[2]; }
};

} // namespace imbrex::ir
