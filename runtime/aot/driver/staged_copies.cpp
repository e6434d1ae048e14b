#include "runtime/aot/driver/staged_copies.h"

#include <cstring>

namespace imbrex::driver {

StagedCopies::~StagedCopies() {
  if (isOpen_) close();
}

bool StagedCopies::isStaged(std::int64_t bytes) {
  if (bytes <= kSmallBytes) return false;
  if (!isTried_) open();
  return isOpen_;
}

void StagedCopies::open() {
  isTried_ = true;
  pair_ = gpu_.takePinned();
  if (pair_ == nullptr) return;
  isOpen_ = true;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    pieces_[i].memory = pair_ + static_cast<std::int64_t>(i) * kPieceBytes;
    if (isOpen_ && gpu_.makeEvent(pieces_[i].event, nullptr) != 0) isOpen_ = false;
  }
  if (!isOpen_) close();
}

void StagedCopies::close() {
  for (Piece &piece : pieces_) await(piece);
  for (const Piece &piece : pieces_)
    if (piece.event != nullptr) gpu_.destroyEvent(piece.event);
  // If not even the stream can be waited for, the engine may copy from or to it at any time.
  if (!hasFailed_ || gpu_.await(nullptr) == 0) gpu_.giveBackPinned(pair_);
}

int StagedCopies::await(Piece &piece) {
  if (!piece.isBusy) return 0;
  const int error = gpu_.awaitEvent(piece.event);
  piece.isBusy = error != 0;
  hasFailed_ |= error != 0;
  return error;
}

int StagedCopies::noteStarted(Piece &piece, int error) {
  if (error == 0) error = gpu_.recordEvent(piece.event, nullptr);
  piece.isBusy = error == 0;
  hasFailed_ |= error != 0;
  return error;
}

int StagedCopies::copyIn(std::uint64_t to, const void *from, std::int64_t bytes) {
  if (!isStaged(bytes)) return gpu_.copyIn(to, from, bytes);
  const auto *const source = static_cast<const std::byte *>(from);
  for (std::int64_t at = 0; at < bytes; at += kPieceBytes) {
    Piece &piece = nextPiece();
    const std::int64_t size = partAt(at, bytes);
    if (const int error = await(piece); error != 0) return error;
    std::memcpy(piece.memory, source + at, static_cast<std::size_t>(size));
    const int started =
        gpu_.startCopyIn(to + static_cast<std::uint64_t>(at), piece.memory, size, nullptr);
    if (const int error = noteStarted(piece, started); error != 0) return error;
  }
  return 0;
}

/// What the engine still copies from the piece comes before it in the stream.
int StagedCopies::startOut(Piece &piece, std::uint64_t from, std::int64_t bytes) {
  return noteStarted(piece, gpu_.startCopyOut(piece.memory, from, bytes, nullptr));
}

} // namespace imbrex::driver
