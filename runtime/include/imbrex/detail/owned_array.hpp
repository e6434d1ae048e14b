#pragma once

#include <imbrex/detail/array_memory.hpp>

#include <memory>
#include <utility>

namespace imbrex::detail {

/// What arrays that own a block of memory have in common: their extents, and that they move and do
/// not copy. One that was moved from, or was made without extents, has no block.
template <class Block>
class owned_array {
public:
  std::size_t size() const { return static_cast<std::size_t>(elements()); }
  bool empty() const { return elements() == 0; }
  std::int64_t elements() const { return block_ ? layout_.elements() : 0; }
  std::int64_t bytes() const { return block_ ? block_->bytes() : 0; }
  std::int32_t rank() const { return layout_.rank; }
  std::int64_t extent(std::int32_t axis) const {
    return layout_.extents[static_cast<std::size_t>(axis)];
  }
  std::int64_t stride(std::int32_t axis) const {
    return layout_.strides[static_cast<std::size_t>(axis)];
  }
  const detail::layout &layout() const { return layout_; }

protected:
  owned_array() = default;
  /// `make` makes the block of a layout.
  template <class Make>
  owned_array(const detail::layout &of, const Make &make) : layout_(of), block_(make(of)) {}
  owned_array(owned_array &&other) noexcept
      : layout_(std::exchange(other.layout_, {})), block_(std::move(other.block_)) {}
  owned_array &operator=(owned_array &&other) noexcept {
    layout_ = std::exchange(other.layout_, {});
    block_ = std::move(other.block_);
    return *this;
  }
  ~owned_array() = default;

  Block *owned() const { return block_.get(); }

private:
  detail::layout layout_;
  std::unique_ptr<Block> block_;
};

} // namespace imbrex::detail
