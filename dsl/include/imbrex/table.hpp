#pragma once

#include <imbrex/view.hpp>

/// Tables of pointers: one for each group of a grouped product, say.
namespace imbrex {

namespace detail {

/// One of a table's pointers, not recorded yet.
template <class T, class I>
struct table_entry : traced {
  using element = pointer<T>;
  using shape = scalar_shape;
  value table;
  I index;

  table_entry(value of, const I &i) : table(of), index(i) {}
  table_entry(const table_entry &) = default;
  template <class X>
  auto operator=(const X &) const {
    static_assert(always_false<X>,
                  "imbrex: the pointers of a table are the launch's, and the kernel cannot change "
                  "them; to write where one points to, make a view of it: view c(x[g], {rows, "
                  "columns})");
    return refused{};
  }

  value record(location where) const {
    const value i = record_operand<typename I::element, scalar_shape>(index, where);
    return detail::record("table.pointer", {table, i}, type_of<element, shape>, {}, where);
  }
};

} // namespace detail

/// Pointers to global memory, as many as the launch brings. A kernel's parameter: `x[g]` is a
/// `ptr<T>`, of which a view can be made: `view<const f32, 2> a(x[g], {rows, columns})`. Of a
/// `table<const T>` nothing can be stored through.
template <class T>
class table {
public:
  using element = T;

  static_assert(imbrex::element<std::remove_const_t<T>>,
                "imbrex: not an element type; see docs/language.md");
  static_assert(!std::same_as<std::remove_const_t<T>, f4e2m1>,
                "imbrex: an f4e2m1 has no address of its own; make it a table of u8");

  explicit table(detail::value id) : id_(id) {}

  /// The pointer with this number; null where the table has none.
  template <class I>
  auto operator[](const I &i) const {
    constexpr bool is_index = [] {
      if constexpr (operand_or_literal<I>)
        return integer_element<detail::element_t<I>> && detail::shape_of<I>::rank == 0;
      return false;
    }();
    static_assert(is_index, "imbrex: a table is read by the number of a pointer, an integer: x[g]");
    if constexpr (is_index) {
      auto held = detail::hold(i);
      return detail::table_entry<T, decltype(held)>(id_, held);
    } else {
      return detail::refused{};
    }
  }

  /// How many pointers there are.
  scalar<i64> size(detail::location where = detail::location::current()) const {
    return scalar<i64>(detail::record(
        "view.extent", {id_}, detail::type_of<i64, detail::scalar_shape>, {{"axis", 0}}, where));
  }

private:
  detail::value id_;
};

#define IMBREX_DETAIL_OF_TABLES(symbol)                                                            \
  template <class A, class B>                                                                      \
    requires(detail::is_table<A> || detail::is_table<B>)                                           \
  detail::refused operator symbol(const A &, const B &) {                                          \
    static_assert(detail::always_false<A>,                                                         \
                  "imbrex: a table is neither a number nor a pointer: x[g] is one of its "         \
                  "pointers");                                                                     \
    return {};                                                                                     \
  }
IMBREX_DETAIL_OF_TABLES(+)
IMBREX_DETAIL_OF_TABLES(-)
IMBREX_DETAIL_OF_TABLES(*)
IMBREX_DETAIL_OF_TABLES(/)
#undef IMBREX_DETAIL_OF_TABLES

} // namespace imbrex
