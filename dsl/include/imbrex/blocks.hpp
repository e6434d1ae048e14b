#pragma once

#include <imbrex/box.hpp>
#include <imbrex/convert.hpp>
#include <imbrex/trace.hpp>
#include <imbrex/view.hpp>

#include <array>
#include <concepts>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>

/// A functor may say itself how many blocks a launch has, by a member that computes it from the
/// same parameters:
///
///   auto blocks(view<const T, 2> a, view<const T, 2> b, view<T, 2>) const {
///     return std::tuple(cdiv(a.extent(0), BM), cdiv(b.extent(1), BN));
///   }
namespace imbrex::detail {

template <class K>
constexpr bool has_blocks_member = [] {
  if constexpr (requires { &K::blocks; }) {
    using member = decltype(&K::blocks);
    return std::is_member_function_pointer_v<member> ||
           std::is_function_v<std::remove_pointer_t<member>>;
  } else {
    return false;
  }
}();

template <class K, class Parameters>
constexpr bool computes_blocks = false;
template <class K, class... P>
constexpr bool computes_blocks<K, std::tuple<P...>> =
    requires(const K &kernel, P... parameters) { kernel.blocks(parameters...); };

/// Whether a launch of the kernel needs no grid.
template <class K>
constexpr bool has_blocks() {
  constexpr bool has = computes_blocks<K, typename kernel_traits<K>::parameters>;
  static_assert(has || !has_blocks_member<K>,
                "imbrex: `blocks` takes the parameters that the kernel takes, and is const");
  return has;
}

/// Whether `blocks` gives several numbers.
template <class Numbers>
constexpr bool are_several = false;
template <class... N>
constexpr bool are_several<std::tuple<N...>> = true;
template <class N, std::size_t Count>
constexpr bool are_several<std::array<N, Count>> = true;

/// What writes the numbers of blocks to a view behind the kernel's own parameters.
template <class K, class Parameters>
struct blocks_kernel;
template <class K, class... P>
struct blocks_kernel<K, std::tuple<P...>> {
  const K *of;

  void operator()(P... parameters, view<i64, 1> made) const {
    const auto numbers = of->blocks(parameters...);
    if constexpr (are_several<std::remove_cv_t<decltype(numbers)>>)
      std::apply([&](const auto &...each) { write(made, each...); }, numbers);
    else
      write(made, numbers);
  }

private:
  template <class... N>
  static void write(const view<i64, 1> &made, const N &...numbers) {
    static_assert(sizeof...(N) >= 1 && sizeof...(N) <= 3,
                  "imbrex: `blocks` gives one to three numbers of blocks, several as a std::tuple");
    int axis = 0;
    (write_one(made, axis++, numbers), ...);
    while (axis < 3) write_one(made, axis++, 1);
  }
  template <class N>
  static void write_one(const view<i64, 1> &made, int axis, const N &number) {
    if constexpr (std::integral<N>)
      made[box<1>(axis)] = static_cast<i64>(number);
    else
      made[box<1>(axis)] = cast<i64>(number);
  }
};

/// What was recorded, or the error of what a launch can't do.
result<std::optional<traced_kernel>> checked_blocks(traced_kernel blocks, std::string_view kernel);

/// None of a kernel that leaves it to the launch.
template <class K>
result<std::optional<traced_kernel>> try_trace_blocks(const K &kernel, location where) {
  if constexpr (has_blocks<K>()) {
    using blocks = blocks_kernel<K, typename kernel_traits<K>::parameters>;
    const result<traced_kernel> made = try_trace(blocks{&kernel}, {.name = "blocks"}, where);
    if (!made) return made.error();
    return checked_blocks(*made, default_name<K>());
  } else {
    return std::optional<traced_kernel>();
  }
}

/// The same; throws the error.
template <class K>
std::optional<traced_kernel> trace_blocks(const K &kernel, location where) {
  return try_trace_blocks(kernel, where).value();
}

} // namespace imbrex::detail
