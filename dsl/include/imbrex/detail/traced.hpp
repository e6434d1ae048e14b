#pragma once

#include <imbrex/detail/promotion.hpp>

/// The uses of a kernel's values that C++ would allow and that mean nothing while it is traced.
namespace imbrex::detail {

// What only refuses has a result that is deduced: clang++ then looks into it where it is called,
// and names the line of the kernel; into others at the file's end, when it no longer does.

/// What a refused operator gives, so that the rest of its statement is not refused as well.
struct refused {
  template <class X>
  void operator=(const X &) const {}
};

/// What std's containers and pointers are indexed by. To these alone a value with a name converts
/// of itself, in order to be refused: no 0 that stands beside it in ?: has such a type.
template <class Number>
inline constexpr bool is_index =
    std::same_as<Number, std::size_t> || std::same_as<Number, std::ptrdiff_t>;

/// What tiles, expressions, variables and boxes share: they have no value while a kernel is traced.
struct traced {
  // Of values without a name alone, or `flag ? x : 0` would not know whether to make a number of x
  // or a tile of 0.
  template <class Number>
    requires std::is_arithmetic_v<Number>
  operator Number() const && {
    return number<Number>();
  }
  template <class Number>
    requires std::is_arithmetic_v<Number>
  explicit(!is_index<Number>) operator Number() const & {
    return number<Number>();
  }
  template <class I>
  auto operator[](const I &) const {
    return indexed<traced, I>();
  }
  template <class X = void>
  refused operator*() const {
    static_assert(always_false<X>,
                  "imbrex: a kernel's pointer has no *: write load(p) and store(p, x)");
    return {};
  }

protected:
  template <class X, class I>
  static auto indexed() {
    static_assert(always_false<X, I>,
                  "imbrex: tiles and pointers have no []: slice<axis, first, extent>(t) and "
                  "gather<axis>(t, i) take elements, load(p + i) and store(p + i, x) reach memory");
    return refused{};
  }

private:
  template <class Number>
  static auto number() {
    constexpr bool is_condition = std::same_as<Number, bool>;
    static_assert(
        !is_condition || always_false<Number>,
        "imbrex: a tile has no value while the kernel is traced, so that C++'s if, for, while, "
        "?: cannot test it; use IMBREX_IF, for (auto i : range(n)), while_, where, min or max");
    static_assert(
        is_condition || always_false<Number>,
        "imbrex: a tile has no value while the kernel is traced, so that no int or float of C++ "
        "can be made of it, nor an index; keep it in `auto`, convert it by cast<T>(x), load from "
        "p + x for array[x]; both sides of ?: are to be tiles: flag ? x : scalar<T>(0)");
    return Number{};
  }
};

} // namespace imbrex::detail
