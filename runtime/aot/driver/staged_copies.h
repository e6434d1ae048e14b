#pragma once

#include "runtime/aot/driver/gpu.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace imbrex::driver {

/// Copies between the host's plain memory and a GPU's, in the default stream. Large ones go through
/// two pieces of pinned memory (PinnedPool): while the processor fills or reads one, the engine
/// copies the other, and nobody waits for the last. Small ones, and all where there are no pieces,
/// are left to the driver. One thread's.
class StagedCopies {
public:
  /// Up to here a driver takes plain memory at once and waits for nothing (CUDA C++ Programming
  /// Guide 13, "Asynchronous Concurrent Execution": of copies from the host of 64 KB or less).
  static constexpr std::int64_t kSmallBytes = 64 * 1024;

  explicit StagedCopies(const Gpu &gpu) : gpu_(gpu) {}
  StagedCopies(const StagedCopies &) = delete;
  StagedCopies &operator=(const StagedCopies &) = delete;
  /// Waits for what still copies from a piece.
  ~StagedCopies();

  /// 0, or the driver's error. The host's memory may be used again; what is put into the default
  /// stream from now on sees the device's.
  int copyIn(std::uint64_t to, const void *from, std::int64_t bytes);
  /// The same the other way, in parts: `take(part, at, size)` is called for each, in order.
  template <class Take>
  int copyOut(std::uint64_t from, std::int64_t bytes, Take take);

private:
  static constexpr std::int64_t kPieceBytes = PinnedPool::kPieceBytes;

  struct Piece {
    std::byte *memory = nullptr;
    void *event = nullptr; ///< Recorded behind the copy.
    bool isBusy = false;   ///< The engine copies it, for all that the processor knows.
  };

  /// Whether it goes through pieces, which are taken for the first that does.
  bool isStaged(std::int64_t bytes);
  void open();
  void close();
  Piece &nextPiece() { return pieces_[turn_++ % pieces_.size()]; }
  static std::int64_t partAt(std::int64_t at, std::int64_t bytes) {
    return std::min(kPieceBytes, bytes - at);
  }
  /// The piece is the processor's again.
  int await(Piece &piece);
  /// The piece is the engine's, for the copy that has been started with this error or none.
  int noteStarted(Piece &piece, int error);
  int startOut(Piece &piece, std::uint64_t from, std::int64_t bytes);
  template <class Take>
  int copyOutByDriver(std::uint64_t from, std::int64_t bytes, Take take);

  const Gpu &gpu_;
  std::byte *pair_ = nullptr;
  std::array<Piece, 2> pieces_;
  std::size_t turn_ = 0;
  bool isOpen_ = false, isTried_ = false;
  bool hasFailed_ = false; ///< Something; what the engine has of the pieces is not known.
};

template <class Take>
int StagedCopies::copyOutByDriver(std::uint64_t from, std::int64_t bytes, Take take) {
  std::vector<std::byte> part(static_cast<std::size_t>(partAt(0, bytes)));
  for (std::int64_t at = 0; at < bytes; at += kPieceBytes) {
    const std::int64_t size = partAt(at, bytes);
    const int error = gpu_.copyOut(part.data(), from + static_cast<std::uint64_t>(at), size);
    if (error != 0) return error;
    take(part.data(), at, size);
  }
  return 0;
}

template <class Take>
int StagedCopies::copyOut(std::uint64_t from, std::int64_t bytes, Take take) {
  if (!isStaged(bytes)) return copyOutByDriver(from, bytes, take);
  Piece *here = &nextPiece(), *next = &nextPiece();
  int error = startOut(*here, from, partAt(0, bytes));
  for (std::int64_t at = 0; at < bytes && error == 0; at += kPieceBytes) {
    const std::int64_t after = at + kPieceBytes;
    if (after < bytes)
      error = startOut(*next, from + static_cast<std::uint64_t>(after), partAt(after, bytes));
    if (error == 0) error = await(*here);
    if (error == 0) take(static_cast<const std::byte *>(here->memory), at, partAt(at, bytes));
    std::swap(here, next);
  }
  return error;
}

} // namespace imbrex::driver
