#pragma once

#include <cstddef>
#include <cstdint>

namespace imbrex::launching {

/// Memory for the tiles of a block, 64-byte aligned. Each thread keeps what it once had, for the
/// next block; a launch from inside a launch gets memory of its own.
class Scratch {
public:
  explicit Scratch(std::int64_t bytes);
  ~Scratch();
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;

  std::byte *data() const { return data_; }

private:
  std::byte *data_;
  std::int64_t bytes_;
};

} // namespace imbrex::launching
