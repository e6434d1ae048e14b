#pragma once

#include <imbrex/buffer.hpp>
#include <imbrex/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <utility>

namespace imbrex {
namespace detail {

/// Pinned memory for a device; of devices that run on the processor a memory_block.
class pinned_block {
public:
  pinned_block(device on, std::int64_t bytes, std::source_location where);
  ~pinned_block();
  pinned_block(const pinned_block &) = delete;
  pinned_block &operator=(const pinned_block &) = delete;

  std::byte *data() const { return data_; }

private:
  device on_;
  std::byte *data_ = nullptr;
  std::unique_ptr<memory_block> host_;
};

} // namespace detail

/// Elements in the host's memory that GPUs copy from and to while they and the host do other work:
/// what the copies of a device_buffer are started from and to. A contiguous range, which owns its
/// memory, moves and does not copy. Its elements are not set at first, and nothing may still be
/// copied when it goes.
template <class T>
class pinned_buffer {
  static_assert(element<T>, "imbrex: the elements of a pinned_buffer are those of kernels: f32, …");

public:
  using storage_type = detail::storage_of<T>;

  pinned_buffer() = default;
  /// So many elements, for the GPUs of the device's vendor.
  pinned_buffer(device on, detail::quantity size,
                std::source_location where = std::source_location::current())
      : bytes_(detail::storage_bytes<T>(detail::row_major({size}, where).elements())),
        block_(std::make_unique<detail::pinned_block>(on, bytes_, where)) {}
  pinned_buffer(pinned_buffer &&other) noexcept
      : bytes_(std::exchange(other.bytes_, 0)), block_(std::move(other.block_)) {}
  pinned_buffer &operator=(pinned_buffer &&other) noexcept {
    bytes_ = std::exchange(other.bytes_, 0);
    block_ = std::move(other.block_);
    return *this;
  }

  storage_type *data() const {
    return block_ ? reinterpret_cast<storage_type *>(block_->data()) : nullptr;
  }
  /// What lies in memory, of which two f4e2m1 are one.
  std::size_t size() const { return static_cast<std::size_t>(bytes_) / sizeof(storage_type); }
  storage_type *begin() const { return data(); }
  storage_type *end() const { return data() + size(); }
  storage_type &operator[](std::int64_t i) const { return data()[i]; }

private:
  std::int64_t bytes_ = 0;
  std::unique_ptr<detail::pinned_block> block_;
};

} // namespace imbrex
