#pragma once

#include <imbrex/detail/operand.hpp>
#include <imbrex/detail/owned_array.hpp>
#include <imbrex/tensor_ref.hpp>

#include <algorithm>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

namespace imbrex {

/// Set an element of the host's memory to a number that fits as one in a kernel must: also to
/// constants::infinity, for which C++ has no float under -ffast-math.
template <element T, detail::literal_number S>
void set_element(T &place, const S &number,
                 std::source_location where = std::source_location::current()) {
  static_assert(detail::kind_of<detail::own_element_t<S>> <= detail::kind_of<T>,
                "imbrex: the number's fraction would be lost; write it as an integer");
  detail::check_literal<T>(number, where);
  detail::set_bits(place, detail::element_bits<T>(number));
}

/// Memory for an array of up to five axes, which a launch takes wherever a kernel has a pointer or
/// a view. It owns the memory, moves and does not copy, and is aligned to 64 bytes. Its elements
/// are not set at first.
template <class T>
class buffer : public detail::owned_array<detail::memory_block> {
  using base = detail::owned_array<detail::memory_block>;

  static_assert(!std::is_const_v<T>,
                "imbrex: a buffer owns its elements and can't have them const");

public:
  using element_type = T;
  /// What lies in memory: the element itself, or a byte of two f4e2m1.
  using storage_type = detail::storage_of<T>;

  buffer() = default;
  explicit buffer(detail::quantity extent,
                  std::source_location where = std::source_location::current())
      : buffer(std::initializer_list<detail::quantity>{extent}, where) {}
  buffer(detail::quantity extent_0, detail::quantity extent_1,
         std::source_location where = std::source_location::current())
      : buffer(std::initializer_list<detail::quantity>{extent_0, extent_1}, where) {}
  buffer(detail::quantity extent_0, detail::quantity extent_1, detail::quantity extent_2,
         std::source_location where = std::source_location::current())
      : buffer(std::initializer_list<detail::quantity>{extent_0, extent_1, extent_2}, where) {}
  buffer(detail::quantity extent_0, detail::quantity extent_1, detail::quantity extent_2,
         detail::quantity extent_3, std::source_location where = std::source_location::current())
      : buffer(std::initializer_list<detail::quantity>{extent_0, extent_1, extent_2, extent_3},
               where) {}
  buffer(detail::quantity extent_0, detail::quantity extent_1, detail::quantity extent_2,
         detail::quantity extent_3, detail::quantity extent_4,
         std::source_location where = std::source_location::current())
      : buffer(std::initializer_list<detail::quantity>{extent_0, extent_1, extent_2, extent_3,
                                                       extent_4},
               where) {}
  buffer(std::initializer_list<detail::quantity> extents,
         std::source_location where = std::source_location::current())
      : base(detail::row_major(extents, where), [&](const detail::layout &of) {
          return std::make_unique<detail::memory_block>(detail::storage_bytes<T>(of.elements()),
                                                        where);
        }) {}

  /// The block that the memory is in; null where there is none.
  detail::memory_block *block() const { return owned(); }

  storage_type *data() {
    if (block() == nullptr) return nullptr;
    block()->touch();
    return reinterpret_cast<storage_type *>(block()->data());
  }
  const storage_type *data() const {
    return block() ? reinterpret_cast<const storage_type *>(block()->data()) : nullptr;
  }
  std::span<storage_type> span() { return {data(), units()}; }
  std::span<const storage_type> span() const { return {data(), units()}; }
  storage_type *begin() { return data(); }
  storage_type *end() { return data() + units(); }
  const storage_type *begin() const { return data(); }
  const storage_type *end() const { return data() + units(); }

  /// An element by its place in memory, or by one index for each axis. Not checked.
  storage_type &operator[](std::int64_t i) { return data()[i]; }
  const storage_type &operator[](std::int64_t i) const { return data()[i]; }
  template <std::integral I>
  storage_type &operator[](I i) {
    return data()[i];
  }
  template <std::integral I>
  const storage_type &operator[](I i) const {
    return data()[i];
  }
  /// A box: what a kernel reads is a view, which the launch makes of the buffer.
  template <class I>
    requires(!std::is_arithmetic_v<I> && !std::is_enum_v<I> && !operand<I>)
  auto operator[](const I &) const {
    static_assert(detail::always_false<I>,
                  "imbrex: a buffer is memory of the host: pass it to the launch and index the "
                  "kernel's view, x[box<64>(i)]");
    return detail::refused{};
  }
  template <std::integral... Index>
    requires(!detail::is_packed<T>)
  storage_type &operator()(Index... index) {
    return tensor_ref<T>(data(), layout(), detail::unknown_bytes)(index...);
  }
  template <std::integral... Index>
    requires(!detail::is_packed<T>)
  const storage_type &operator()(Index... index) const {
    return tensor_ref<const T>(data(), layout(), detail::unknown_bytes)(index...);
  }

  void fill(const T &value) {
    if constexpr (detail::is_packed<T>)
      std::ranges::fill(span(), detail::pack(value, value));
    else
      std::ranges::fill(span(), value);
  }
  /// The same with a number of another type, which must fit as a number in a kernel must.
  template <detail::literal_number S>
    requires(!std::same_as<S, T>)
  void fill(const S &number, std::source_location where = std::source_location::current()) {
    T value{};
    set_element(value, number, where);
    fill(value);
  }

  /// Take the elements of a range, which must be as many; each is converted to T, and must be in
  /// its range.
  template <std::ranges::sized_range Range>
  void copy_from(const Range &values,
                 std::source_location where = std::source_location::current()) {
    const auto count = static_cast<std::int64_t>(std::ranges::size(values));
    if (count != elements()) detail::throw_size_mismatch(elements(), "from", count, where);
    detail::store_all<T>(values, data(), where);
  }

  /// Give the elements to a range, which must have as many; each is converted to its elements,
  /// and must be in their range.
  template <std::ranges::sized_range Range>
  void copy_to(Range &&values, std::source_location where = std::source_location::current()) const {
    const auto count = static_cast<std::int64_t>(std::ranges::size(values));
    if (count != elements()) detail::throw_size_mismatch(elements(), "to", count, where);
    detail::load_all<T>(data(), values, where);
  }

  /// The same memory under other extents, and strides if it is not to be row-major.
  tensor_ref<T> view(std::initializer_list<detail::quantity> extents,
                     std::source_location where = std::source_location::current()) {
    return {block(), detail::row_major(extents, where), where};
  }
  tensor_ref<const T> view(std::initializer_list<detail::quantity> extents,
                           std::source_location where = std::source_location::current()) const {
    return {block(), detail::row_major(extents, where), where};
  }
  tensor_ref<T> view(std::initializer_list<detail::quantity> extents,
                     std::initializer_list<detail::quantity> strides,
                     std::source_location where = std::source_location::current()) {
    return {block(), detail::strided(extents, strides, where), where};
  }
  tensor_ref<const T> view(std::initializer_list<detail::quantity> extents,
                           std::initializer_list<detail::quantity> strides,
                           std::source_location where = std::source_location::current()) const {
    return {block(), detail::strided(extents, strides, where), where};
  }

private:
  std::size_t units() const { return static_cast<std::size_t>(bytes()) / sizeof(storage_type); }
};

} // namespace imbrex
