#pragma once

#include <imbrex/box.hpp>
#include <imbrex/detail/stored.hpp>

/// Views of global memory with run-time extents and strides, read and written by the box:
/// `a[box<64, 32>(m, k)]` counts in boxes, `a[box_at<64, 32>(row, column)]` in elements.
namespace imbrex {

/// A box of a view, in place: the tile that was there when it was named, and, assigned to, a store.
template <class T, class Box>
class view_cell : public detail::traced {
public:
  using element = std::remove_const_t<T>;
  using shape = typename Box::shape;

  view_cell(detail::value view, const Box &box) : view_(view), box_(box), read_(load()) {}
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

  template <class X, class Op>
  static auto named() {
    static_assert(detail::always_false<X>,
                  "imbrex: a named box is the value that was read; to store, write "
                  "view[box<...>(...)] = ..., to change a copy, declare a `var`");
  }

  detail::value load() const {
    if constexpr (is_clipped)
      return load_clipped();
    else
      return load_box();
  }

  detail::value load_clipped() const {
    using namespace detail;
    const clipped_access access = record_clipped<T>(view_, box_);
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
    std::array<value, Box::rank + 2> operands{view_};
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
    if constexpr (is_clipped) {
      const clipped_access access = record_clipped<T>(view_, box_);
      record_effect("store", {access.pointers, stored, access.mask}, attributes_of(box_.hints),
                    where);
      return *this;
    }
    std::array<value, Box::rank + 2> operands{view_, stored};
    std::size_t n = 2;
    for (const value coordinate : box_.at) operands[n++] = coordinate;
    record_effect("view.store", operands,
                  {{"unit", box_.unit},
                   {"cache", word(box_.hints.cached)},
                   {"eviction", word(box_.hints.evicted)}},
                  where);
    return *this;
  }

  detail::value view_;
  Box box_;
  detail::value read_;
};

/// Global memory with `Rank` axes, whose extents and strides come with the launch. A kernel's
/// parameter. `view<const T, Rank>` cannot be stored to.
template <class T, int Rank>
class view {
public:
  using element = T;
  static constexpr int rank = Rank;

  static_assert(imbrex::element<std::remove_const_t<T>>,
                "imbrex: not an element type; see docs/language.md");
  static_assert(Rank >= 1 && Rank <= 5, "imbrex: a view has 1 to 5 axes");

  explicit view(detail::value id) : id_(id) {}

  template <class Shape, class Pad, class Clip>
  auto operator[](view_box<Shape, Pad, Clip> &&box) const {
    return cell(box);
  }
  /// A box with a name may be of another line; what the cell is used for has the line of here, most
  /// of the time.
  template <class Shape, class Pad, class Clip>
  auto operator[](const view_box<Shape, Pad, Clip> &box) const {
    const auto named = cell(box);
    detail::place_at_first_use(named.record(box.where));
    return named;
  }
  template <class I>
  auto operator[](const I &) const {
    return unboxed<I>();
  }
  template <class... I>
  auto operator()(const I &...) const {
    return unboxed<view, I...>();
  }

  /// Elements along an axis.
  scalar<i64> extent(int axis, detail::location where = detail::location::current()) const {
    return ask("view.extent", axis, where);
  }
  /// Elements of memory from one index to the next along an axis.
  scalar<i64> stride(int axis, detail::location where = detail::location::current()) const {
    return ask("view.stride", axis, where);
  }
  /// The first element.
  ptr<T> data(detail::location where = detail::location::current()) const {
    return ptr<T>(detail::record(
        "view.data", {id_}, detail::type_of<detail::pointer<T>, detail::scalar_shape>, {}, where));
  }

private:
  template <class Shape, class Pad, class Clip>
  auto cell(const view_box<Shape, Pad, Clip> &box) const {
    using held = std::remove_const_t<T>;
    static_assert(Shape::rank == Rank, "imbrex: the box and the view have different ranks");
    static_assert(!std::same_as<Pad, detail::pad_not_a_number> || float_element<held> ||
                      narrow_element<held>,
                  "imbrex: only float elements can be padded with NaN");
    if constexpr (requires { typename Pad::element; })
      static_assert(detail::kind_of<typename Pad::element> < element_kind::floating ||
                        detail::kind_of<held> == element_kind::floating,
                    "imbrex: the number's fraction would be lost; pad integers with an integer");
    static_assert(std::same_as<Clip, detail::unclipped> || !std::same_as<held, f4e2m1>,
                  "imbrex: two f4e2m1 share a byte, and within(...) goes element by element; view "
                  "the memory as u8, of half as many columns");
    return view_cell<T, view_box<Shape, Pad, Clip>>(id_, box);
  }
  template <class... I>
  static auto unboxed() {
    static_assert(
        detail::always_false<I...>,
        "imbrex: a view is read and written by boxes: view[box<extents...>(coordinates...)]");
    return detail::refused{};
  }
  scalar<i64> ask(const char *op, int axis, detail::location where) const {
    if (axis < 0 || axis >= Rank)
      detail::raise("ViewAxis", where, {std::to_string(axis), std::to_string(Rank)});
    return scalar<i64>(detail::record(op, {id_}, detail::type_of<i64, detail::scalar_shape>,
                                      {{"axis", axis}}, where));
  }

  detail::value id_;
};

template <class T, int Rank, operand_or_literal I>
auto operator+(const view<T, Rank> &, const I &) {
  static_assert(detail::always_false<I>,
                "imbrex: a view is no pointer; view.data() is the one to its first element");
  return detail::refused{};
}

#define IMBREX_DETAIL_OF_BOXES(symbol)                                                             \
  template <class A, class B>                                                                      \
    requires(detail::is_view<A> || detail::is_view<B>)                                             \
  detail::refused operator symbol(const A &, const B &) {                                          \
    static_assert(detail::always_false<A>,                                                         \
                  "imbrex: a view is memory and has no value: read a box of it, a[box<64>(i)]");   \
    return {};                                                                                     \
  }
IMBREX_DETAIL_OF_BOXES(+)
IMBREX_DETAIL_OF_BOXES(-)
IMBREX_DETAIL_OF_BOXES(*)
IMBREX_DETAIL_OF_BOXES(/)
#undef IMBREX_DETAIL_OF_BOXES

} // namespace imbrex
