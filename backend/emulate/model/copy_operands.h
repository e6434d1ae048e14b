#pragma once

#include "backend/emulate/model/tensor_map.h"

#include <array>
#include <compare>
#include <cstdint>

/// What compiled code says when it starts a copy, or arrives at a barrier: addresses as numbers.
namespace imbrex::emulate {

/// Of a copy from global to shared memory.
struct CopyOperands {
  std::uint64_t to, from;
  std::uint32_t bytes; ///< That are taken; the rest are zeros.
  std::int32_t parameter =
      -1; ///< The LLVM parameter that `from` is made of, if the site does not know.
};

/// AMD's buffer resource: addresses from the base on, of which so many bytes are there.
struct BufferResource {
  std::uint64_t base, records;
  std::int32_t parameter; ///< The LLVM parameter that the base is made of; -1: none.
  auto operator<=>(const BufferResource &) const = default;
};

/// Of a copy from such a buffer.
struct BufferOperands {
  std::uint64_t to, buffer;
  std::uint32_t offset, scalarOffset;
};

/// Of a copy of many bytes that ends at a barrier.
struct BulkOperands {
  std::uint64_t to, barrier, from;
  std::uint32_t bytes;
};

/// Of a copy of a box, from or to shared memory.
struct BoxOperands {
  std::uint64_t shared, barrier, map;
  std::array<std::int32_t, kMostAxes> first;
};

/// At a barrier in shared memory.
struct Arrival {
  std::uint64_t address;
  std::uint32_t count;
  std::int64_t bytes; ///< That are expected from now on.
};

} // namespace imbrex::emulate
