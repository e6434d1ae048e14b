#pragma once

#include <imbrex/detail/argument_check.hpp>
#include <imbrex/detail/storage.hpp>
#include <imbrex/device.hpp>

#include <bit>
#include <concepts>
#include <cstring>
#include <limits>
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

/// A number that is to become another type's: floats as a double.
template <class A>
decltype(auto) to_convert(const A &given) {
  if constexpr (float_element<A>)
    return static_cast<double>(given);
  else
    return (given);
}

/// Whether a float's significand has room for an integer: the processor then converts it without
/// rounding, however it is set to round.
template <std::floating_point T, std::integral A>
constexpr bool has_room_for(A given) {
  constexpr std::uint64_t most = std::uint64_t{1} << std::numeric_limits<T>::digits;
  const auto wide = static_cast<std::uint64_t>(given); // the sign repeated
  return std::signed_integral<A> ? wide + most <= 2 * most : wide <= most;
}

/// Much code, and seldom called: kept out of that of launches.
template <class T, class A>
[[gnu::noinline]] bool take_rounded(const A &given, std::uint64_t &bits) {
  const auto &number = to_convert(given);
  bits = element_bits<T>(number);
  return fits<T>(number);
}

/// The bits of a number as a T; false where it is too large for that. Most take few instructions,
/// so always inline.
template <class T, class A>
[[gnu::always_inline]] inline bool take_bits(const A &given, std::uint64_t &bits) {
  if constexpr (std::same_as<A, T>) {
    bits = bits_of(given);
    return true;
  } else if constexpr (integer_element<T>) {
    const auto converted = static_cast<T>(given);
    bits = bits_of(converted);
    return (given < A{}) == (converted < T{}) && static_cast<A>(converted) == given;
  } else if constexpr (std::floating_point<T> && std::integral<A>) {
    if (!has_room_for<T>(given)) return take_rounded<T>(given, bits);
    bits = bits_of(static_cast<T>(given));
    return true;
  } else {
    return take_rounded<T>(given, bits);
  }
}

template <class T, class A>
launch_argument of_scalar(const A &given) {
  launch_argument made;
  if (take_bits<T>(given, made.scalar)) return made;
  if constexpr (integer_element<T>)
    return {.kind = launch_argument::form::too_large,
            .is_signed = std::signed_integral<A>,
            .scalar = static_cast<std::uint64_t>(given)};
  else
    return {.kind = launch_argument::form::too_large_float,
            .scalar = element_bits<f64>(to_convert(given))};
}

/// The way from an argument to the kernel's parameter P. Of one that is none, the trace has told.
template <class P>
struct argument_for {
  template <class A>
  static launch_argument make(A &) {
    return {};
  }
};

/// An array in memory that has a number of its own: a device_buffer.
template <class A>
concept numbered_array = own_array<A> && requires(const std::remove_cvref_t<A> &a) {
  { a.number() } -> std::same_as<std::uint64_t>;
};

/// What a launch made again is known by: a word of each argument from which follows all that `make`
/// gives. False where an argument has none.
struct array_word {
  template <numbered_array A>
  static bool take_word(const A &a, std::uint64_t &word) {
    word = a.number();
    return true;
  }
};

template <class T, int Rank>
struct argument_for<view<T, Rank>> : array_word {
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
struct argument_for<tile<pointer<T>>> : array_word {
  template <class A>
  static launch_argument make(A &a) {
    return of_pointer<T>(a);
  }
  using array_word::take_word;
  /// Its address, which no number is. Of an array, which becomes a pointer if it is taken by value,
  /// the bytes are known: it may be one of the host's, which is copied.
  template <raw_pointer A>
  static bool take_word(const A &a, std::uint64_t &word) {
    word = reinterpret_cast<std::uintptr_t>(a);
    return true;
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
  template <class A>
  static bool take_word(const A &a, std::uint64_t &word) {
    return take_bits<T>(a, word);
  }
};

/// Whether arguments of this type may have words.
template <class P, class A>
concept has_word = requires(A &a, std::uint64_t &word) { argument_for<P>::take_word(a, word); };

/// As many as the library compares so many words with: two, and then four in each step.
constexpr std::size_t padded_words(std::size_t count) {
  return count <= 2 ? 2 : 2 + (count + 1) / 4 * 4;
}

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
