#pragma once

#include <imbrex/box.hpp>
#include <imbrex/detail/stored.hpp>

/// What stands where a view is indexed by a box.
namespace imbrex {

/// A box of a view, in place: the tile that was there when it was named, and, assigned to, a store.
template <class T, class Box>
class view_cell : public detail::traced {
public:
  using element = std::remove_const_t<T>;
  using shape = typename Box::shape;
  using memory_type = detail::view_memory<Box::rank>;

  view_cell(const memory_type &memory, const Box &box)
      : memory_(memory), box_(box), read_(load()) {}
  view_cell(const view_cell &) = default;
  // `a[x] = b[x]` goes the way of every other value, which knows the line.
  view_cell &operator=(const view_cell &)
    requires(detail::always_false<Box>)
  = default;

  /// The tile that was read, zero (or the padding) outside of the view.
  detail::value record(detail::location where) const { return detail::used_at(read_, where); }

  /// Store into the box; outside of the view nothing happens. A box with a name is the tile that
  /// was read, and nobody expects a value to write to memory.
#define IMBREX_DETAIL_STORED(symbol, op)                                                           \
  const view_cell &operator symbol(const detail::stored<op, element, shape> &x) const && {         \
    return store(x.over(detail::used_at(read_, x.where)), x.where);                                \
  }                                                                                                \
  template <class X = void>                                                                        \
  void operator symbol(const detail::stored<op, element, shape> &) const & {                       \
    named<X, op>();                                                                                \
  }                                                                                                \
  template <class X>                                                                               \
    requires(!operand_or_literal<X>)                                                               \
  void operator symbol(const X &) const & {                                                        \
    detail::refuse_value<X>();                                                                     \
  }
  IMBREX_DETAIL_STORED(=, void)
  IMBREX_DETAIL_STORED(+=, detail::add_op)
  IMBREX_DETAIL_STORED(-=, detail::sub_op)
  IMBREX_DETAIL_STORED(*=, detail::mul_op)
  IMBREX_DETAIL_STORED(/=, detail::div_op)
#undef IMBREX_DETAIL_STORED

private:
  using pad_type = std::remove_cvref_t<decltype(std::declval<Box>().padding)>;
  static constexpr bool is_clipped =
      !std::same_as<std::remove_cvref_t<decltype(std::declval<Box>().clip)>, detail::unclipped>;
  static constexpr bool has_addresses = !std::same_as<element, f4e2m1>;

  template <class X, class Op>
  static auto named() {
    static_assert(detail::always_false<X>,
                  "imbrex: a named box is the value that was read; to store, write "
                  "view[box<...>(...)] = ..., to change a copy, declare a `var`");
  }

  /// Element by element, through pointers.
  bool is_by_elements() const { return is_clipped || memory_.is_made; }

  detail::value load() const {
    if constexpr (has_addresses)
      if (is_by_elements()) return load_clipped();
    return load_box();
  }

  detail::value load_clipped() const {
    using namespace detail;
    const clipped_access access = record_clipped<T>(memory_, box_);
    std::array<value, 3> operands{access.pointers, access.mask};
    std::size_t n = 2;
    if constexpr (std::same_as<pad_type, pad_not_a_number>)
      operands[n++] = record_constant(type_of<element, shape>,
                                      element_bits<element>(constants::nan), box_.where);
    else if constexpr (!std::same_as<pad_type, pad_zero>)
      operands[n++] = record_operand<element, shape>(box_.padding, box_.where);
    return detail::record("load", {operands.data(), n}, type_of<element, shape>,
                          attributes_of(box_.hints), box_.where);
  }

  detail::value load_box() const {
    using namespace detail;
    std::array<value, Box::rank + 2> operands{memory_.view};
    std::size_t n = 1;
    for (const value coordinate : box_.at) operands[n++] = coordinate;
    std::string_view padding = "zero";
    if constexpr (std::same_as<pad_type, pad_not_a_number>) {
      padding = "nan";
    } else if constexpr (!std::same_as<pad_type, pad_zero>) {
      padding = "value";
      operands[n++] = record_operand<element, scalar_shape>(box_.padding, box_.where);
    }
    return detail::record("view.load", {operands.data(), n}, type_of<element, shape>,
                          {{"unit", box_.unit},
                           {"padding", padding},
                           {"cache", word(box_.hints.cached)},
                           {"eviction", word(box_.hints.evicted)}},
                          box_.where);
  }

  const view_cell &store(detail::value stored, detail::location where) const {
    using namespace detail;
    static_assert(!std::is_const_v<T>, "imbrex: a view of const elements cannot be stored to");
    discard_if_unused(read_);
    if constexpr (has_addresses)
      if (is_by_elements()) {
        const clipped_access access = record_clipped<T>(memory_, box_);
        record_effect("store", {access.pointers, stored, access.mask}, attributes_of(box_.hints),
                      where);
        return *this;
      }
    std::array<value, Box::rank + 2> operands{memory_.view, stored};
    std::size_t n = 2;
    for (const value coordinate : box_.at) operands[n++] = coordinate;
    record_effect("view.store", operands,
                  {{"unit", box_.unit},
                   {"cache", word(box_.hints.cached)},
                   {"eviction", word(box_.hints.evicted)}},
                  where);
    return *this;
  }

  memory_type memory_;
  Box box_;
  detail::value read_;
};

} // namespace imbrex
