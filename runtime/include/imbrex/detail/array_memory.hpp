#pragma once

#include <imbrex/detail/compiler.hpp>
#include <imbrex/detail/quantity.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <source_location>

namespace imbrex::detail {

inline constexpr std::int32_t max_rank = 5;
inline constexpr std::int64_t unknown_bytes = -1;

/// How the elements of an array lie in memory; extents and strides count elements.
struct layout {
  std::int32_t rank = 0;
  std::array<std::int64_t, max_rank> extents{};
  std::array<std::int64_t, max_rank> strides{};

  std::int64_t elements() const {
    std::int64_t product = 1;
    for (std::int32_t i = 0; i < rank; ++i) {
      const std::int64_t extent = extents[static_cast<std::size_t>(i)];
      if (extent == 0) return 0; // before the others, whose product may be too large
      product *= extent;
    }
    return product;
  }
};

/// Neighbours along the last axis are neighbours in memory. An error for more than five axes, a
/// negative extent, or more elements than a 64-bit number counts the bits of.
layout row_major(std::initializer_list<quantity> extents, std::source_location where);
/// The same with strides of the caller's choice, one for each extent.
layout strided(std::initializer_list<quantity> extents, std::initializer_list<quantity> strides,
               std::source_location where);

/// Throws unless a layout fits the memory that it is laid over.
void check_fits(const layout &wanted, std::int64_t bits_of_one, std::int64_t bytes,
                std::source_location where);
/// A buffer and the range that it is copied "from" or "to" have not as many elements.
[[noreturn]] void throw_size_mismatch(std::int64_t elements, const char *direction,
                                      std::int64_t count, std::source_location where);
/// An element of what is copied is more than what it is copied to can hold, whose type is null
/// where it is no element type.
[[noreturn]] void throw_out_of_range(std::int64_t element, double value, const char *type,
                                     std::source_location where);

/// Memory that a buffer owns: aligned to 64 bytes, and to huge pages if it is large; its bytes are
/// not set at first. It remembers whether somebody may have set them, for the device that checks
/// it.
class memory_block {
public:
  memory_block(std::int64_t bytes, std::source_location where);
  ~memory_block();
  memory_block(const memory_block &) = delete;
  memory_block &operator=(const memory_block &) = delete;

  std::byte *data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

  /// From now on every byte counts as set: its address was given to code that nobody watches.
  void touch() {
    if (!touched_.load(std::memory_order_relaxed)) touched_.store(true, std::memory_order_relaxed);
  }
  /// A flag for each byte that is 1 while nobody set it; null once all count as set.
  std::uint8_t *unwritten();

private:
  std::byte *data_ = nullptr;
  std::int64_t bytes_ = 0;
  std::atomic<bool> touched_ = false;
  std::unique_ptr<std::uint8_t[]> flags_; // made when they are first asked for
};

} // namespace imbrex::detail
