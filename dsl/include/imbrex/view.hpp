#pragma once

#include <imbrex/detail/view_cell.hpp>

/// Views of global memory with run-time extents and strides, read and written by the box:
/// `a[box<64, 32>(m, k)]` counts in boxes, `a[box_at<64, 32>(row, column)]` in elements.
namespace imbrex {

/// Global memory with `Rank` axes. As a kernel's parameter, its extents and strides come with the
/// launch; in the kernel it is made of a pointer, `view<f32, 2> a(p, {rows, columns})`, row-major,
/// or with a stride for each axis: `view<f32, 2> a(p, {rows, columns}, {row_stride, 1})`. A
/// `view<const T, Rank>` cannot be stored to.
template <class T, int Rank>
class view {
public:
  using element = T;
  static constexpr int rank = Rank;

  static_assert(imbrex::element<std::remove_const_t<T>>,
                "imbrex: not an element type; see docs/language.md");
  static_assert(Rank >= 1 && Rank <= 5, "imbrex: a view has 1 to 5 axes");

  explicit view(detail::value id) : memory_{.view = id} {}

  template <operand P, std::size_t N>
  view(const P &first, const detail::run_integer (&extents)[N],
       detail::location where = detail::location::current())
      : memory_(made<P, N, N>(first, extents, where)) {
    if constexpr (N == Rank)
      detail::record_row_major(memory_.extents, memory_.strides.data(), where);
  }
  template <operand P, std::size_t N, std::size_t M>
  view(const P &first, const detail::run_integer (&extents)[N],
       const detail::run_integer (&strides)[M],
       detail::location where = detail::location::current())
      : memory_(made<P, N, M>(first, extents, where)) {
    if constexpr (M == Rank)
      for (std::size_t axis = 0; axis < M; ++axis) memory_.strides[axis] = strides[axis].number;
  }

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
    return ask("view.extent", memory_.extents, axis, where);
  }
  /// Elements of memory from one index to the next along an axis.
  scalar<i64> stride(int axis, detail::location where = detail::location::current()) const {
    return ask("view.stride", memory_.strides, axis, where);
  }
  /// The first element.
  ptr<T> data(detail::location where = detail::location::current()) const {
    if (memory_.is_made) return ptr<T>(memory_.first);
    return ptr<T>(detail::record("view.data", {memory_.view},
                                 detail::type_of<detail::pointer<T>, detail::scalar_shape>, {},
                                 where));
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
                        detail::kind_of<held> >= element_kind::floating,
                    "imbrex: integers have no fraction and no infinity; pad them with an integer, "
                    "such as std::numeric_limits<i32>::lowest()");
    static_assert(std::same_as<Clip, detail::unclipped> || !std::same_as<held, f4e2m1>,
                  "imbrex: two f4e2m1 share a byte, and within(...) goes element by element; view "
                  "the memory as u8, of half as many columns");
    return view_cell<T, view_box<Shape, Pad, Clip>>(memory_, box);
  }
  template <class... I>
  static auto unboxed() {
    static_assert(
        detail::always_false<I...>,
        "imbrex: a view is read and written by boxes: view[box<extents...>(coordinates...)]");
    return detail::refused{};
  }
  using memory_type = detail::view_memory<Rank>;

  template <class P, std::size_t N, std::size_t M>
  static memory_type made(const P &first, const detail::run_integer (&extents)[N],
                          detail::location where) {
    using namespace detail;
    check_made<element_t<P>, shape_of<P>>();
    static_assert(N == Rank && M == Rank,
                  "imbrex: a view has an extent for each of its axes, and a stride for each where "
                  "it has any");
    memory_type memory{.is_made = true};
    if constexpr (is_pointer<element_t<P>> && N == Rank) {
      memory.is_const = std::is_const_v<pointee_t<P>>;
      memory.first = record_value(first, where);
      for (std::size_t axis = 0; axis < N; ++axis) memory.extents[axis] = extents[axis].number;
    }
    return memory;
  }
  template <class P, class Shape>
  static constexpr void check_made() {
    static_assert(detail::is_pointer<P>,
                  "imbrex: a view is made of a pointer, and of a tile or an expression only where "
                  "that is one");
    static_assert(!detail::is_pointer<P> || Shape::rank == 0,
                  "imbrex: a view is made of the pointer to its first element, and not of many");
    if constexpr (detail::is_pointer<P>) {
      using pointee = typename P::pointee;
      static_assert(std::same_as<std::remove_const_t<pointee>, std::remove_const_t<T>>,
                    "imbrex: the view's elements have another type than those behind the pointer");
      static_assert(std::is_const_v<T> || !std::is_const_v<pointee>,
                    "imbrex: what lies behind a pointer to const elements cannot be stored to; "
                    "make a view<const T, ...> of it");
    }
  }

  scalar<i64> ask(const char *op,
                  const std::array<detail::value, static_cast<std::size_t>(Rank)> &made, int axis,
                  detail::location where) const {
    if (axis < 0 || axis >= Rank)
      detail::raise("ViewAxis", where, {std::to_string(axis), std::to_string(Rank)});
    if (memory_.is_made) return scalar<i64>(made[static_cast<std::size_t>(axis)]);
    return scalar<i64>(detail::record(
        op, {memory_.view}, detail::type_of<i64, detail::scalar_shape>, {{"axis", axis}}, where));
  }

  memory_type memory_;
};

template <operand P, std::size_t N>
view(const P &, const detail::run_integer (&)[N]) -> view<detail::pointee_t<P>, int{N}>;
template <operand P, std::size_t N, std::size_t M>
view(const P &, const detail::run_integer (&)[N], const detail::run_integer (&)[M])
    -> view<detail::pointee_t<P>, int{N}>;

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
