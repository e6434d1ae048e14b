#pragma once

#include <imbrex/detail/argument_check.hpp>
#include <imbrex/detail/storage.hpp>
#include <imbrex/device.hpp>

#include <bit>
#include <concepts>
#include <cstring>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

/// From what a launch is given to what the library runs with. Its types have been checked; all that
/// only the run knows is checked in the library.
namespace imbrex::detail {

/// An argument on its way into the library.
struct launch_argument {
  enum class form : std::uint8_t {
    scalar,
    array,
    dlpack,
    versioned_dlpack,
    table,
    too_large,
    too_large_float
  };

  form kind = form::scalar;
  bool is_signed = false;     ///< Of a number too large for its parameter: how to print it.
  std::uint64_t scalar = 0;   ///< The bits; of a number too large: as 64 bits, or as a double.
  const void *data = nullptr; ///< The first element; of a DLPack array: the struct.
  std::int64_t bytes = unknown_bytes;
  memory_block *block = nullptr; ///< The buffer behind it, if there is one.
  std::optional<device> in = {}; ///< The device whose memory it is known to be.
  detail::layout layout = {};
  std::vector<launch_argument> pointees = {}; ///< Of a table: the array that each pointer leads to.
};

template <class A>
launch_argument of_own_array(A &a) {
  launch_argument made{.kind = launch_argument::form::array};
  // As const: to ask for the address of what may be written counts as writing it. The launch knows
  // better what it writes.
  made.data = std::as_const(a).data();
  made.block = a.block();
  made.bytes = a.bytes();
  made.layout = a.layout();
  if constexpr (requires { a.on(); }) made.in = a.on();
  return made;
}

template <class T, class A>
launch_argument of_mdspan(A &a) {
  launch_argument made{.kind = launch_argument::form::array, .data = first_of(a)};
  static_assert(std::remove_cvref_t<A>::rank() <= std::size_t{max_rank},
                "imbrex: a view has at most 5 axes");
  made.layout.rank = static_cast<std::int32_t>(a.rank());
  for (std::int32_t axis = 0; axis < made.layout.rank; ++axis) {
    using index = decltype(a.rank());
    const auto i = static_cast<std::size_t>(axis);
    made.layout.extents[i] = static_cast<std::int64_t>(a.extent(static_cast<index>(axis)));
    made.layout.strides[i] = static_cast<std::int64_t>(a.stride(static_cast<index>(axis)));
  }
  return made;
}

template <class T, class A>
launch_argument of_range(A &a) {
  const auto count = static_cast<std::int64_t>(std::ranges::size(a));
  return {.kind = launch_argument::form::array,
          .data = std::ranges::data(a),
          .bytes = count * std::int64_t{sizeof(T)},
          .layout = {.rank = 1, .extents = {count}, .strides = {1}}};
}

/// For a view or a pointer to T.
template <class T, class A>
launch_argument of_array(A &a) {
  if constexpr (versioned_dlpack_array<A>) {
    return {.kind = launch_argument::form::versioned_dlpack, .data = &a};
  } else if constexpr (dlpack_array<A>) {
    return {.kind = launch_argument::form::dlpack, .data = &a};
  } else if constexpr (own_array<A>) {
    return of_own_array(a);
  } else if constexpr (mdspan_like<A>) {
    return of_mdspan<T>(a);
  } else {
    return of_range<T>(a);
  }
}

template <class T, class A>
launch_argument of_integer(A given) {
  const auto converted = static_cast<T>(given);
  const bool same_sign = (given < A{}) == (converted < T{});
  if (same_sign && static_cast<A>(converted) == given) return {.scalar = bits_of(converted)};
  return {.kind = launch_argument::form::too_large,
          .is_signed = std::signed_integral<A>,
          .scalar = static_cast<std::uint64_t>(given)};
}

template <class T, class A>
launch_argument of_float(const A &given) {
  if (fits<T>(given)) return {.scalar = element_bits<T>(given)};
  return {.kind = launch_argument::form::too_large_float, .scalar = element_bits<f64>(given)};
}

template <class T, class A>
launch_argument of_scalar(const A &given) {
  if constexpr (std::same_as<A, T>) {
    return {.scalar = bits_of(given)};
  } else if constexpr (integer_element<T>) {
    return of_integer<T>(given);
  } else if constexpr (float_element<A>) {
    return of_float<T>(static_cast<double>(given));
  } else {
    return of_float<T>(given);
  }
}

/// The way from an argument to the kernel's parameter P. Of one that is none, the trace has told.
template <class P>
struct argument_for {
  template <class A>
  static launch_argument make(A &) {
    return {};
  }
};

template <class T, int Rank>
struct argument_for<view<T, Rank>> {
  template <class A>
  static launch_argument make(A &a) {
    return of_array<T>(a);
  }
};

template <class T, class A>
launch_argument of_pointer(A &a) {
  if constexpr (raw_pointer<A>)
    return {.kind = launch_argument::form::array, .data = a};
  else
    return of_array<T>(a);
}

template <class T>
struct argument_for<tile<pointer<T>>> {
  template <class A>
  static launch_argument make(A &a) {
    return of_pointer<T>(a);
  }
};

template <class T, std::size_t Count>
class listed_arrays {
public:
  template <class... A>
  explicit listed_arrays(std::in_place_t, A &...arrays)
      : arrays_{of_pointer<std::remove_const_t<T>>(arrays)...} {}
  const std::array<launch_argument, Count> &arrays() const { return arrays_; }

private:
  std::array<launch_argument, Count> arrays_;
};

template <class T>
struct argument_for<table<T>> {
  template <class A>
  static launch_argument make(A &a) {
    launch_argument made{.kind = launch_argument::form::table};
    if constexpr (is_listed<std::remove_const_t<A>>) {
      made.pointees.assign(a.arrays().begin(), a.arrays().end());
    } else {
      made.pointees.reserve(std::ranges::size(a));
      for (auto &&array : a) made.pointees.push_back(of_pointer<T>(array));
    }
    return made;
  }
};

template <class T>
struct argument_for<tile<T>> {
  template <class A>
  static launch_argument make(const A &a) {
    return of_scalar<T>(a);
  }
};

} // namespace imbrex::detail

namespace imbrex {

/// The arrays that the pointers of a kernel's table lead to: `k(grid(3), table_of(a, b, c))`. They
/// are what a ptr<T> takes, of one element; the elements can be written through none of them where
/// one is const. Of many arrays a range does as well: a vector of buffers.
template <class First, class... Rest>
auto table_of(First &&first, Rest &&...rest) {
  using detail::given_element;
  using element = typename given_element<std::remove_reference_t<First>>::type;
  static_assert(
      (std::same_as<
           std::remove_const_t<element>,
           std::remove_const_t<typename given_element<std::remove_reference_t<Rest>>::type>> &&
       ...),
      "imbrex: the arrays of a table have elements of one type");
  constexpr bool is_const =
      std::is_const_v<element> ||
      (std::is_const_v<typename given_element<std::remove_reference_t<Rest>>::type> || ...);
  using T = std::conditional_t<is_const, const element, element>;
  return detail::listed_arrays<T, 1 + sizeof...(Rest)>(std::in_place, first, rest...);
}

} // namespace imbrex
