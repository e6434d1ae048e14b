#pragma once

#include "backend/ir/types.h"
#include "llvm/ADT/ArrayRef.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace imbrex::ir {

/// One argument of a launch, as every executor on this machine takes it; the parameter's type says
/// which fields count.
struct Argument {
  /// The caller gave a bare pointer: nobody can check accesses.
  static constexpr std::int64_t kUnknownSize = -1;

  std::uint64_t scalar = 0;                            // a scalar: its bits, zero-extended
  std::byte *data = nullptr;                           // a pointer, a view: the first element
                                                       // a table: the first of its addresses
  std::int64_t bytes = kUnknownSize;                   // bytes that may be touched from `data` on
  std::uint8_t *unwritten = nullptr;                   // null, or a flag per byte of `bytes`: not 0
                                                       // while nothing has written the byte
  bool isInPlace = false;                              // it is known to be the device's own memory
  std::array<std::int64_t, Shape::kMaxRank> extents{}; // a view: in elements
  std::array<std::int64_t, Shape::kMaxRank> strides{}; // a view: in elements
  /// A table: what its pointers lead to, in order; they are as many as extents[0] says, and behind
  /// their addresses stands a null one, which an index that is none of the table's is given.
  llvm::ArrayRef<Argument> pointees = {};
};

/// What a table's argument is made of, and is good as long as; where it is moved to does not
/// matter.
class PointerTable {
public:
  PointerTable() = default;
  explicit PointerTable(std::vector<Argument> pointees);
  Argument argument() const;

private:
  std::vector<Argument> pointees_;
  std::vector<std::uint64_t> addresses_; // and a null one
};

/// The memory that a parameter of a type with memory gives a kernel, a piece for each pointer.
inline llvm::ArrayRef<Argument> memoryOf(const Type &type, const Argument &argument) {
  return type.isTable() ? argument.pointees : llvm::ArrayRef(argument);
}

/// Whether no byte of the one's memory is the other's too; false where nobody knows the size.
bool areApart(llvm::ArrayRef<Argument> a, llvm::ArrayRef<Argument> b);

/// The number of blocks along x, y, z.
struct Grid {
  std::array<std::int32_t, 3> extents{1, 1, 1};
  std::int64_t blocks() const { return std::int64_t{extents[0]} * extents[1] * extents[2]; }
};

} // namespace imbrex::ir
