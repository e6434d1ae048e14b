#pragma once

#include <imbrex/detail/array_memory.hpp>
#include <imbrex/detail/storage.hpp>

#include <concepts>

namespace imbrex {

/// Somebody else's memory as an array of up to five axes, for the launch of a kernel that takes a
/// view: a pointer, an extent and a stride (in elements) for each axis.
template <class T>
class tensor_ref {
public:
  using element_type = T;
  using storage_type = detail::storage_of<T>;

  /// Row-major. `bytes` is how much memory there is from `data` on, where it is known: the launch
  /// then checks that the array lies within it.
  tensor_ref(storage_type *data, std::initializer_list<detail::quantity> extents,
             detail::quantity bytes = detail::unknown_bytes,
             std::source_location where = std::source_location::current())
      : tensor_ref(data, detail::row_major(extents, where), bytes, where) {}

  tensor_ref(storage_type *data, std::initializer_list<detail::quantity> extents,
             std::initializer_list<detail::quantity> strides,
             detail::quantity bytes = detail::unknown_bytes,
             std::source_location where = std::source_location::current())
      : tensor_ref(data, detail::strided(extents, strides, where), bytes, where) {}

  tensor_ref(storage_type *data, const detail::layout &layout, detail::quantity bytes,
             std::source_location where = std::source_location::current())
      : data_(data), layout_(layout), bytes_(bytes) {
    if (bytes != detail::unknown_bytes)
      detail::check_fits(layout_, detail::storage_bits<T>, bytes, where);
  }

  storage_type *data() const { return data_; }
  std::int32_t rank() const { return layout_.rank; }
  std::int64_t extent(std::int32_t axis) const {
    return layout_.extents[static_cast<std::size_t>(axis)];
  }
  std::int64_t stride(std::int32_t axis) const {
    return layout_.strides[static_cast<std::size_t>(axis)];
  }
  std::int64_t bytes() const { return bytes_; }
  std::int64_t elements() const { return layout_.elements(); }
  const detail::layout &layout() const { return layout_; }
  /// The buffer's memory that this lies in, if it lies in one.
  detail::memory_block *block() const { return block_; }

  /// One element, one index for each axis. Not checked.
  template <std::integral... Index>
    requires(!detail::is_packed<T>)
  storage_type &operator()(Index... index) const {
    std::int64_t offset = 0;
    std::size_t axis = 0;
    ((offset += static_cast<std::int64_t>(index) * layout_.strides[axis++]), ...);
    return data_[offset];
  }

private:
  template <class>
  friend class buffer;
  tensor_ref(detail::memory_block *block, const detail::layout &layout, std::source_location where)
      : tensor_ref(block == nullptr ? nullptr : reinterpret_cast<storage_type *>(block->data()),
                   layout, block == nullptr ? 0 : block->bytes(), where) {
    block_ = block;
  }

  storage_type *data_;
  detail::layout layout_;
  std::int64_t bytes_;
  detail::memory_block *block_ = nullptr;
};

template <class T>
tensor_ref(T *, std::initializer_list<detail::quantity>) -> tensor_ref<T>;
template <class T>
tensor_ref(T *, std::initializer_list<detail::quantity>, detail::quantity) -> tensor_ref<T>;
template <class T>
tensor_ref(T *, std::initializer_list<detail::quantity>, std::initializer_list<detail::quantity>)
    -> tensor_ref<T>;
template <class T>
tensor_ref(T *, std::initializer_list<detail::quantity>, std::initializer_list<detail::quantity>,
           detail::quantity) -> tensor_ref<T>;

} // namespace imbrex
