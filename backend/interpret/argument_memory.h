#pragma once

#include "backend/interpret/interpret.h"
#include "backend/interpret/races.h"
#include "backend/interpret/value.h"

#include <optional>
#include <string>
#include <vector>

namespace imbrex::interpret {

/// An element of memory: the piece of memory it is reached through and where it lies.
struct ElementAddress {
  std::int32_t origin = 0;
  std::uint64_t address = 0; // of the byte
  bool isHighNibble = false; // f4e2m1 only
};

/// Who touches memory: for the message, should it be wrong.
struct ElementAccess {
  const ir::Op *op = nullptr;
  const ir::Shape *shape = nullptr; // of the tile of accesses
  std::int64_t position = 0;        // which of them
  ir::ElementKind element = ir::ElementKind::Bool;
  bool isAtomic = false;
};

/// The arguments' memory, every access checked. False and nullopt: an error was reported.
///
/// Its pieces have numbers: first the parameters by theirs, then what the pointers of tables lead
/// to. The number of a table itself is that of its null pointer.
class ArgumentMemory {
public:
  ArgumentMemory(const ir::Kernel &kernel, const ir::Grid &grid,
                 llvm::ArrayRef<ir::Argument> arguments, const InterpreterOptions &options,
                 Diagnostics &diagnostics);

  void enterBlock(const std::array<std::int32_t, 3> &programId, std::int64_t block);
  std::optional<std::uint64_t> read(const ElementAccess &access, const ElementAddress &place);
  bool write(const ElementAccess &access, const ElementAddress &place, std::uint64_t bits);
  /// In front of an atomic's read, and behind its write.
  void acquire(const ElementAddress &place, ir::MemoryOrder order);
  void release(const ElementAddress &place, ir::MemoryOrder order);

  /// A parameter's argument, or what a pointer of a table leads to.
  const ir::Argument &piece(std::int32_t origin) const {
    return *pieces_[static_cast<size_t>(origin)].argument;
  }
  /// The first byte behind the pointer of a table; where the index is none, of the null pointer.
  ElementAddress pointee(std::int32_t table, std::int64_t index) const;

private:
  struct Piece {
    const ir::Argument *argument;
    std::int32_t parameter;
    std::int64_t index = -1; // of a table's pointer
  };

  bool check(const ElementAccess &access, const ElementAddress &place);
  bool checkWritten(const ElementAccess &access, const ElementAddress &place);
  bool checkRaces(const ElementAccess &access, const ElementAddress &place,
                  RaceWatch::AccessMode mode);
  std::string elementText(const ElementAccess &access, const ElementAddress &place) const;
  std::string whereText(const ElementAccess &access) const;
  std::int64_t offset(const ElementAddress &place) const;
  bool isNullPointer(const ElementAddress &place) const;
  std::string nameOf(std::int32_t origin) const;
  std::optional<std::int32_t> otherPieceAt(const ElementAddress &place) const;

  const ir::Kernel &kernel_;
  const ir::Grid &grid_;
  std::vector<Piece> pieces_;
  std::vector<std::int32_t> firstPointee_; // of each parameter, the number
  Diagnostics &diagnostics_;
  std::optional<RaceWatch> races_;
  std::array<std::int32_t, 3> programId_{};
};

/// A block's place in the grid, and back; x runs fastest.
std::array<std::int32_t, 3> programIdOf(const ir::Grid &grid, std::int64_t block);
/// `3, 0, 0`
std::string toText(const std::array<std::int32_t, 3> &programId);
/// `at tile index [3] of block [0, 0, 0]`
std::string whereText(const ir::Shape &shape, std::int64_t position,
                      const std::array<std::int32_t, 3> &programId);

/// The bytes that one element takes, at least one.
std::int64_t elementBytes(ir::ElementKind kind);

} // namespace imbrex::interpret
