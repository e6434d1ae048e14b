#include "backend/interpret/argument_memory.h"

#include "backend/support/check.h"
#include "backend/support/text.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace imbrex::interpret {
namespace {

using ir::ElementKind;

/// What the race watch costs grows with the blocks that meet at an atomic.
constexpr std::int64_t kCheapBlocks = 1024;

constexpr std::int64_t kFarthest = std::numeric_limits<std::int64_t>::max();

bool watchesRaces(const ir::Grid &grid, llvm::ArrayRef<ir::Argument> arguments,
                  const InterpreterOptions &options) {
  if (options.races != InterpreterOptions::Races::WhereCheap)
    return options.races == InterpreterOptions::Races::Watch;
  std::int64_t bytes = 0;
  const auto add = [&](const ir::Argument &argument) {
    bytes += std::min(std::max<std::int64_t>(argument.bytes, 0), InterpreterOptions::kCheapBytes);
  };
  for (const ir::Argument &argument : arguments) {
    add(argument);
    for (const ir::Argument &pointee : argument.pointees) add(pointee);
  }
  return grid.blocks() > 1 && grid.blocks() <= kCheapBlocks &&
         bytes <= InterpreterOptions::kCheapBytes;
}

bool isInside(const ir::Argument &argument, std::int64_t offset, std::int64_t size) {
  return offset >= 0 && offset <= argument.bytes - size;
}

std::string howFarOut(const ir::Argument &argument, std::int64_t offset, std::int64_t size) {
  if (offset < 0) return "starts " + counted(-std::max(offset, -kFarthest), "byte") + " before it";
  return "ends " + counted(std::min(offset, kFarthest - size) - argument.bytes + size, "byte") +
         " past its " + counted(argument.bytes, "byte");
}

} // namespace

std::array<std::int32_t, 3> programIdOf(const ir::Grid &grid, std::int64_t block) {
  const std::int64_t x = grid.extents[0], y = grid.extents[1];
  return {static_cast<std::int32_t>(block % x), static_cast<std::int32_t>(block / x % y),
          static_cast<std::int32_t>(block / x / y)};
}

std::string toText(const std::array<std::int32_t, 3> &programId) {
  return toText(Index(programId.begin(), programId.end()));
}

std::string whereText(const ir::Shape &shape, std::int64_t position,
                      const std::array<std::int32_t, 3> &programId) {
  const std::string block = "block [" + toText(programId) + "]";
  if (shape.rank() == 0) return "in " + block;
  return "at tile index [" + toText(indexAt(shape, position)) + "] of " + block;
}

std::int64_t elementBytes(ElementKind kind) { return (ir::storageBits(kind) + 7) / 8; }

ArgumentMemory::ArgumentMemory(const ir::Kernel &kernel, const ir::Grid &grid,
                               llvm::ArrayRef<ir::Argument> arguments,
                               const InterpreterOptions &options, Diagnostics &diagnostics)
    : kernel_(kernel), grid_(grid), diagnostics_(diagnostics) {
  for (const ir::Argument &argument : arguments)
    pieces_.push_back({&argument, static_cast<std::int32_t>(pieces_.size())});
  for (size_t i = 0; i < arguments.size(); ++i) {
    firstPointee_.push_back(static_cast<std::int32_t>(pieces_.size()));
    for (const ir::Argument &pointee : arguments[i].pointees)
      pieces_.push_back({&pointee, static_cast<std::int32_t>(i),
                         static_cast<std::int64_t>(pieces_.size()) - firstPointee_.back()});
  }
  if (watchesRaces(grid, arguments, options)) races_.emplace();
}

void ArgumentMemory::enterBlock(const std::array<std::int32_t, 3> &programId, std::int64_t block) {
  programId_ = programId;
  if (races_) races_->enterBlock(block);
}

std::int64_t ArgumentMemory::offset(const ElementAddress &place) const {
  return static_cast<std::int64_t>(place.address -
                                   std::bit_cast<std::uint64_t>(piece(place.origin).data));
}

ElementAddress ArgumentMemory::pointee(std::int32_t table, std::int64_t index) const {
  if (index < 0 || index >= std::ssize(piece(table).pointees)) return {.origin = table};
  const std::int32_t origin =
      firstPointee_[static_cast<size_t>(table)] + static_cast<std::int32_t>(index);
  return {.origin = origin, .address = std::bit_cast<std::uint64_t>(piece(origin).data)};
}

/// What a table gives for an index that it does not have.
bool ArgumentMemory::isNullPointer(const ElementAddress &place) const {
  const auto origin = static_cast<size_t>(place.origin);
  return origin < kernel_.parameterCount() && kernel_.parameterType(origin).isTable();
}

/// `x`, or `tables[3]`.
std::string ArgumentMemory::nameOf(std::int32_t origin) const {
  const Piece &piece = pieces_[static_cast<size_t>(origin)];
  const std::string &name = kernel_.parameterName(static_cast<size_t>(piece.parameter));
  return piece.index < 0 ? name : name + "[" + std::to_string(piece.index) + "]";
}

std::string ArgumentMemory::whereText(const ElementAccess &access) const {
  return interpret::whereText(*access.shape, access.position, programId_);
}

std::string ArgumentMemory::elementText(const ElementAccess &access,
                                        const ElementAddress &place) const {
  const std::int64_t bytes = offset(place), size = elementBytes(access.element);
  if (access.element == ElementKind::F4E2M1)
    return std::to_string(2 * bytes + (place.isHighNibble ? 1 : 0));
  // Towards the element that holds the byte, also before the start.
  return std::to_string(bytes / size - (bytes % size < 0 ? 1 : 0));
}

std::optional<std::int32_t> ArgumentMemory::otherPieceAt(const ElementAddress &place) const {
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const auto number = static_cast<std::int32_t>(i);
    const ir::Argument &piece = *pieces_[i].argument;
    const auto start = std::bit_cast<std::uint64_t>(piece.data);
    const auto other = static_cast<std::int64_t>(place.address - start);
    const bool isOther = number != place.origin && start != 0 && !isNullPointer({.origin = number});
    if (isOther && isInside(piece, other, 1)) return number;
  }
  return std::nullopt;
}

bool ArgumentMemory::check(const ElementAccess &access, const ElementAddress &place) {
  const ir::Argument &piece = this->piece(place.origin);
  const std::string_view op = ir::info(access.op->kind).mnemonic;
  const std::string name = nameOf(place.origin);
  const std::int64_t size = elementBytes(access.element), start = offset(place);
  if (isNullPointer(place)) {
    diagnostics_.report(Diag::NullTablePointer, access.op->where, op, name,
                        counted(piece.extents[0], "pointer"), whereText(access));
    return false;
  }
  if (piece.data == nullptr) {
    diagnostics_.report(Diag::NullArgument, access.op->where, op, elementText(access, place), name,
                        whereText(access));
    return false;
  }
  if (piece.bytes == ir::Argument::kUnknownSize || isInside(piece, start, size)) return true;
  const std::string howFar = howFarOut(piece, start, size);
  if (const auto other = otherPieceAt(place))
    diagnostics_.report(Diag::WrongBuffer, access.op->where, op, elementText(access, place), name,
                        howFar, whereText(access), nameOf(*other));
  else
    diagnostics_.report(Diag::OutOfBounds, access.op->where, op, elementText(access, place), name,
                        howFar, whereText(access));
  return false;
}

bool ArgumentMemory::checkWritten(const ElementAccess &access, const ElementAddress &place) {
  const ir::Argument &argument = piece(place.origin);
  if (argument.unwritten == nullptr) return true;
  for (std::int64_t i = 0; i < elementBytes(access.element); ++i) {
    if (argument.unwritten[offset(place) + i] == 0) continue;
    diagnostics_.report(Diag::UnwrittenRead, access.op->where, ir::info(access.op->kind).mnemonic,
                        elementText(access, place), nameOf(place.origin), whereText(access));
    return false;
  }
  return true;
}

bool ArgumentMemory::checkRaces(const ElementAccess &access, const ElementAddress &place,
                                RaceWatch::AccessMode mode) {
  if (!races_) return true;
  for (std::int64_t i = 0; i < elementBytes(access.element); ++i) {
    const auto other =
        races_->touch(*access.op, mode, place.address + static_cast<std::uint64_t>(i));
    if (!other) continue;
    diagnostics_.report(Diag::BlocksRace, access.op->where, ir::info(access.op->kind).mnemonic,
                        elementText(access, place), nameOf(place.origin),
                        ir::info(other->op->kind).mnemonic, toText(other->op->where),
                        toText(programId_), toText(programIdOf(grid_, other->block)));
    return false;
  }
  return true;
}

std::optional<std::uint64_t> ArgumentMemory::read(const ElementAccess &access,
                                                  const ElementAddress &place) {
  const auto mode = access.isAtomic ? RaceWatch::AccessMode::Atomic : RaceWatch::AccessMode::Read;
  if (!check(access, place) || !checkWritten(access, place) || !checkRaces(access, place, mode))
    return std::nullopt;
  std::uint64_t bits = 0;
  std::memcpy(&bits, piece(place.origin).data + offset(place),
              static_cast<size_t>(elementBytes(access.element)));
  if (access.element == ElementKind::Bool) return bits != 0;
  if (access.element == ElementKind::F4E2M1) return bits >> (place.isHighNibble ? 4 : 0) & 0xf;
  return bits;
}

bool ArgumentMemory::write(const ElementAccess &access, const ElementAddress &place,
                           std::uint64_t bits) {
  const auto mode = access.isAtomic ? RaceWatch::AccessMode::Atomic : RaceWatch::AccessMode::Write;
  if (!check(access, place) || !checkRaces(access, place, mode)) return false;
  const ir::Argument &argument = piece(place.origin);
  std::byte *target = argument.data + offset(place);
  const auto size = static_cast<size_t>(elementBytes(access.element));
  if (access.element == ElementKind::F4E2M1) {
    const auto old = std::to_integer<std::uint64_t>(*target);
    bits = place.isHighNibble ? (old & 0x0f) | bits << 4 : (old & 0xf0) | bits;
  }
  std::memcpy(target, &bits, size);
  if (argument.unwritten != nullptr) std::memset(argument.unwritten + offset(place), 0, size);
  return true;
}

void ArgumentMemory::acquire(const ElementAddress &place, ir::MemoryOrder order) {
  if (races_) races_->acquire(place.address, order);
}

void ArgumentMemory::release(const ElementAddress &place, ir::MemoryOrder order) {
  if (races_) races_->release(place.address, order);
}

} // namespace imbrex::interpret
