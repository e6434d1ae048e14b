#pragma once

#include <imbrex/convert.hpp>
#include <imbrex/hints.hpp>

/// Global memory by pointers: `load(p + offsets, mask, 0)`, `store(p + offsets, x, mask)`.
namespace imbrex {

namespace detail {

template <class P>
concept pointers = operand<P> && is_pointer<element_t<P>>;

/// What somebody may take for a pointer.
template <class P>
concept no_pointers =
    (operand<P> || is_view<P> || is_table<P> || std::same_as<P, refused>) && !pointers<P>;

template <class T, class... Given>
inline constexpr bool is_among = (std::same_as<T, Given> || ...);

template <class P>
using pointee_t = typename element_t<P>::pointee;
template <class P>
using loaded_t = std::remove_const_t<pointee_t<P>>;

/// A pointer, or a tile of them, advanced by a number of elements.
template <class P, class I, bool Back>
struct pointer_expression : traced {
  using element = typename P::element;
  using shape = broadcast_t<typename P::shape, typename I::shape>;
  P base;
  I offset;

  pointer_expression(const P &p, const I &i) : base(p), offset(i) {}
  value record(location where) const {
    using Index = std::conditional_t<Back, i64, typename I::element>;
    const value p = record_operand<element, shape>(base, where);
    value i = record_operand<Index, shape>(offset, where);
    if constexpr (Back) i = detail::record("neg", {i}, type_of<i64, shape>, {}, where);
    return detail::record("ptr.add", {p, i}, type_of<element, shape>, {}, where);
  }
};

template <bool Back, class P, class I>
auto advance(P &&p, I &&i) {
  static_assert(integer_element<element_t<I>>, "imbrex: a pointer is advanced by integers");
  auto base = hold(std::forward<P>(p));
  auto offset = hold(std::forward<I>(i));
  return pointer_expression<decltype(base), decltype(offset), Back>(base, offset);
}

template <class I>
concept offset = operand_or_literal<I> && !is_pointer<element_t<I>>;

constexpr std::array<attribute, 2> attributes_of(memory_hints hints) {
  return {attribute("cache", word(hints.cached)), attribute("eviction", word(hints.evicted))};
}

template <class P>
constexpr void check_loadable() {
  static_assert(!std::same_as<loaded_t<P>, f4e2m1>,
                "imbrex: an f4e2m1 has no address of its own; use a view, or a pointer to u8");
}

template <class P, class X>
constexpr void check_stored() {
  using T = pointee_t<P>;
  check_loadable<P>();
  static_assert(!std::is_const_v<T>,
                "imbrex: a pointer to const elements cannot be stored through");
  check_fraction<std::remove_const_t<T>, X>();
  if constexpr (operand<X>)
    static_assert(std::same_as<element_t<X>, T> || widens<element_t<X>, T>(),
                  "imbrex: the stored tile's element type does not fit into the pointer's without "
                  "loss; use cast<...>(...)");
}

/// No pointer is repeated up to the shape of what is stored; the last types keep the messages for
/// different stores apart.
template <class P, class Shape, class... Stored>
constexpr void check_targets() {
  static_assert(shape_of<P>::elements == Shape::elements,
                "imbrex: the tile or mask has more elements than there are pointers, which would "
                "keep one of them; point each element to a place of its own: store(p + arange<0, "
                "n>(), x)");
}

template <class M>
constexpr void check_mask() {
  static_assert(std::same_as<element_t<M>, bool>, "imbrex: a mask is a bool tile, such as i < n");
}

} // namespace detail

/// Pointers advanced by elements; a scalar pointer and a tile of offsets give a tile of pointers.
template <detail::pointers P, detail::offset I>
auto operator+(P &&p, I &&i) {
  return detail::advance<false>(std::forward<P>(p), std::forward<I>(i));
}
template <detail::offset I, detail::pointers P>
auto operator+(I &&i, P &&p) {
  return detail::advance<false>(std::forward<P>(p), std::forward<I>(i));
}
template <detail::pointers P, detail::offset I>
auto operator-(P &&p, I &&i) {
  return detail::advance<true>(std::forward<P>(p), std::forward<I>(i));
}

#define IMBREX_DETAIL_NEEDS_POINTERS(name)                                                         \
  template <detail::no_pointers P, class... Rest>                                                  \
  detail::refused name(const P &, const Rest &...) {                                               \
    static_assert(detail::always_false<P>,                                                         \
                  "imbrex: " #name                                                                 \
                  " goes through a pointer, such as view.data() + offsets, which "                 \
                  "comes first; a box of a view is read and written as view[box<...>(...)]");      \
    return {};                                                                                     \
  }
IMBREX_DETAIL_NEEDS_POINTERS(load)
IMBREX_DETAIL_NEEDS_POINTERS(store)

/// Two options that are given one behind the other.
#define IMBREX_DETAIL_NEEDS_BRACES(name, First, Second, form)                                      \
  template <detail::pointers P, class... Rest>                                                     \
    requires(detail::is_among<First, Rest...> && detail::is_among<Second, Rest...>)                \
  detail::refused name(const P &, const Rest &...) {                                               \
    static_assert(detail::always_false<P>,                                                         \
                  "imbrex: two options of " #name " stand in braces: " form);                      \
    return {};                                                                                     \
  }
IMBREX_DETAIL_NEEDS_BRACES(load, cache, eviction, "{cache::all, eviction::last}")
IMBREX_DETAIL_NEEDS_BRACES(store, cache, eviction, "{cache::all, eviction::last}")

/// The elements at the pointers.
template <detail::pointers P>
auto load(const P &p, memory_hints hints = {},
          detail::location where = detail::location::current()) {
  using namespace detail;
  check_loadable<P>();
  using T = loaded_t<P>;
  using Shape = shape_of<P>;
  return tile_t<T, Shape>(
      record("load", {record_value(p, where)}, type_of<T, Shape>, attributes_of(hints), where));
}
/// The same where the mask is on, zero elsewhere.
template <detail::pointers P, operand_or_literal M>
auto load(const P &p, const M &mask, memory_hints hints = {},
          detail::location where = detail::location::current()) {
  using namespace detail;
  check_loadable<P>();
  check_mask<M>();
  using T = loaded_t<P>;
  using Shape = broadcast_t<shape_of<P>, shape_of<M>>;
  const std::array<value, 2> operands{record_as<element_t<P>, Shape>(p, where),
                                      record_as<bool, Shape>(mask, where)};
  return tile_t<T, Shape>(record("load", operands, type_of<T, Shape>, attributes_of(hints), where));
}
/// The same where the mask is on, `other` elsewhere.
template <detail::pointers P, operand_or_literal M, operand_or_literal Other>
auto load(const P &p, const M &mask, const Other &other, memory_hints hints = {},
          detail::location where = detail::location::current()) {
  using namespace detail;
  check_loadable<P>();
  check_mask<M>();
  using T = loaded_t<P>;
  check_fraction<T, Other>();
  using Shape = broadcast_t<shape_of<P>, shape_of<M>, shape_of<Other>>;
  const std::array<value, 3> operands{record_as<element_t<P>, Shape>(p, where),
                                      record_as<bool, Shape>(mask, where),
                                      record_as<T, Shape>(other, where)};
  return tile_t<T, Shape>(record("load", operands, type_of<T, Shape>, attributes_of(hints), where));
}

/// Write elements to the pointers. Where two pointers are equal, one of the values is kept.
template <detail::pointers P, operand_or_literal X>
void store(const P &p, const X &x, memory_hints hints = {},
           detail::location where = detail::location::current()) {
  using namespace detail;
  check_stored<P, X>();
  using Shape = broadcast_t<shape_of<P>, shape_of<X>>;
  check_targets<P, Shape, X>();
  const std::array<value, 2> operands{record_as<element_t<P>, Shape>(p, where),
                                      record_as<pointee_t<P>, Shape>(x, where)};
  record_effect("store", operands, attributes_of(hints), where);
}
/// The same where the mask is on.
template <detail::pointers P, operand_or_literal X, operand_or_literal M>
void store(const P &p, const X &x, const M &mask, memory_hints hints = {},
           detail::location where = detail::location::current()) {
  using namespace detail;
  check_stored<P, X>();
  check_mask<M>();
  using Shape = broadcast_t<shape_of<P>, shape_of<X>, shape_of<M>>;
  check_targets<P, Shape, X, M>();
  const std::array<value, 3> operands{record_as<element_t<P>, Shape>(p, where),
                                      record_as<pointee_t<P>, Shape>(x, where),
                                      record_as<bool, Shape>(mask, where)};
  record_effect("store", operands, attributes_of(hints), where);
}

} // namespace imbrex
