#pragma once

#include <imbrex/buffer.hpp>
#include <imbrex/detail/given.hpp>
#include <imbrex/stream.hpp>

namespace imbrex {
namespace detail {

/// Memory of a device, in the order of a stream. On devices that run on the processor it is a
/// memory_block.
class device_block {
public:
  device_block(const stream_ref &in, std::int64_t bytes, std::source_location where);
  ~device_block();
  device_block(const device_block &) = delete;
  device_block &operator=(const device_block &) = delete;

  const stream_ref &in() const { return in_; }
  std::byte *data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  memory_block *block() const { return host_.get(); }

  /// All of it, from and to the host's memory, which is free again when these return.
  void copy_from(const void *source, std::source_location where);
  void copy_to(void *target, std::source_location where) const;
  /// The same, which these only put into the stream.
  void start_copy_from(const void *source, std::source_location where);
  void start_copy_to(void *target, std::source_location where) const;

private:
  stream_ref in_;
  std::byte *data_ = nullptr;
  std::int64_t bytes_;
  bool is_pooled_ = false;
  std::unique_ptr<memory_block> host_;
};

/// A number that no other has had, and that is no address: its highest bit is set. It goes where
/// its owner's memory goes; 0 is none.
class memory_number {
public:
  memory_number() = default;
  static memory_number next();
  memory_number(memory_number &&other) noexcept : value_(std::exchange(other.value_, 0)) {}
  memory_number &operator=(memory_number &&other) noexcept {
    value_ = std::exchange(other.value_, 0);
    return *this;
  }

  std::uint64_t value() const { return value_; }

private:
  std::uint64_t value_ = 0;
};

/// Throws unless there are as many as wanted.
void check_count(std::int64_t wanted, const char *direction, std::int64_t count,
                 std::source_location where);

} // namespace detail

/// An array in a device's memory, which a launch on that device takes as it takes a buffer, and
/// uses where it is. It owns the memory, moves and does not copy. Memory is taken and given back in
/// the order of a stream, which has to live longer. Its elements are not set at first.
template <class T>
class device_buffer : public detail::owned_array<detail::device_block> {
  using base = detail::owned_array<detail::device_block>;

  static_assert(element<std::remove_const_t<T>>,
                "imbrex: the elements of a device_buffer are those of kernels: f32, i8, bool, …");
  static_assert(!std::is_const_v<T>,
                "imbrex: a device_buffer owns its elements and can't have them const");

public:
  using element_type = T;
  using storage_type = detail::storage_of<T>;

  device_buffer() = default;
  /// Row-major, of up to five axes: `device_buffer<f32> a(device::current(), {rows, columns})`.
  device_buffer(const stream_ref &in, std::initializer_list<detail::quantity> extents,
                std::source_location where = std::source_location::current())
      : base(detail::row_major(extents, where), block_in(in, where)),
        number_(detail::memory_number::next()) {}
  device_buffer(device on, std::initializer_list<detail::quantity> extents,
                std::source_location where = std::source_location::current())
      : device_buffer(stream_ref(on), extents, where) {}
  /// As many elements as a range of the host's has, or a buffer with its extents, and a copy of
  /// them.
  template <std::ranges::range Range>
  device_buffer(const stream_ref &in, const Range &values,
                std::source_location where = std::source_location::current())
      : base(layout_of(values, where), block_in(in, where)),
        number_(detail::memory_number::next()) {
    copy_from(values, where);
  }
  template <std::ranges::range Range>
  device_buffer(device on, const Range &values,
                std::source_location where = std::source_location::current())
      : device_buffer(stream_ref(on), values, where) {}

  /// The device whose memory it is; none of one that owns no memory.
  std::optional<device> on() const {
    return owned() ? std::optional(owned()->in().on()) : std::nullopt;
  }
  /// Of a device that runs on the processor.
  detail::memory_block *block() const { return owned() ? owned()->block() : nullptr; }
  /// Of the memory with its extents, and of nothing else that ever was; 0 where there is none.
  std::uint64_t number() const { return number_.value(); }

  /// An address of the device: the host reads nothing there.
  storage_type *data() {
    if (block() != nullptr) block()->touch();
    return address();
  }
  const storage_type *data() const { return address(); }

  /// Copy from a contiguous range of as many elements of the same type, and to one: behind what the
  /// stream holds. The range is free again, and filled, when these return.
  template <std::ranges::range Range>
  void copy_from(const Range &values,
                 std::source_location where = std::source_location::current()) {
    check_range<const Range>();
    detail::check_count(units(), "from", units_of(values), where);
    if (owned()) owned()->copy_from(std::ranges::data(values), where);
  }
  template <std::ranges::range Range>
  void copy_to(Range &&values, std::source_location where = std::source_location::current()) const {
    check_target<Range>();
    detail::check_count(units(), "to", units_of(values), where);
    if (owned()) owned()->copy_to(std::ranges::data(values), where);
  }

  /// The same, put into the stream and not waited for: the range has to stay as it is until the
  /// stream has come so far. From and to a pinned_buffer it is copied beside other work.
  template <std::ranges::range Range>
  void start_copy_from(Range &&values,
                       std::source_location where = std::source_location::current()) {
    static_assert(std::ranges::borrowed_range<Range>,
                  "imbrex: a copy that is started from a temporary would outlive it");
    check_range<const std::remove_reference_t<Range>>();
    detail::check_count(units(), "from", units_of(values), where);
    if (owned()) owned()->start_copy_from(std::ranges::data(values), where);
  }
  template <std::ranges::range Range>
  void start_copy_to(Range &&values,
                     std::source_location where = std::source_location::current()) const {
    static_assert(std::ranges::borrowed_range<Range>,
                  "imbrex: a copy that is started to a temporary would outlive it");
    check_target<Range>();
    detail::check_count(units(), "to", units_of(values), where);
    if (owned()) owned()->start_copy_to(std::ranges::data(values), where);
  }

private:
  static auto block_in(const stream_ref &in, std::source_location where) {
    return [&in, where](const detail::layout &of) {
      return std::make_unique<detail::device_block>(in, detail::storage_bytes<T>(of.elements()),
                                                    where);
    };
  }

  /// What lies in memory, of which two f4e2m1 are one.
  std::int64_t units() const { return bytes() / std::int64_t{sizeof(storage_type)}; }
  template <class Range>
  static std::int64_t units_of(const Range &values) {
    return std::ranges::end(values) - std::ranges::begin(values);
  }
  storage_type *address() const {
    return owned() ? reinterpret_cast<storage_type *>(owned()->data()) : nullptr;
  }
  template <class Range>
  static constexpr void check_range() {
    constexpr bool is_contiguous = std::ranges::contiguous_range<Range>;
    static_assert(is_contiguous,
                  "imbrex: a device_buffer is copied from and to contiguous ranges: a "
                  "vector, an array, a span, a buffer");
    if constexpr (is_contiguous)
      static_assert(std::same_as<std::ranges::range_value_t<Range>, storage_type>,
                    "imbrex: a device_buffer is copied as it is, and the range has elements of "
                    "another type; a buffer converts them, by copy_from");
  }
  template <class Range>
  static constexpr void check_target() {
    check_range<Range>();
    static_assert(!std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>,
                  "imbrex: what a device_buffer is copied to is const");
  }
  template <class Range>
  static detail::layout layout_of(const Range &values, std::source_location where) {
    check_range<const Range>();
    static_assert(!detail::is_packed<T> || detail::own_array<const Range>,
                  "imbrex: a byte holds two f4e2m1, and nobody knows of how many a range of bytes "
                  "is; give the extents, or a buffer");
    if constexpr (detail::own_array<const Range>)
      return values.layout();
    else
      return detail::row_major({std::ranges::size(values)}, where);
  }

  detail::memory_number number_;
};

} // namespace imbrex
