#pragma once

#include <imbrex/dsl.hpp>

#include <optional>
#include <tuple>

/// What a file includes that says which kernels are compiled ahead of time. `imbrex_add_kernels`
/// makes a program of it, the generator, which writes the library, its headers and its manifest;
/// it is the only one to link the compiler.
namespace imbrex::detail {

/// What is recorded of a kernel.
struct library_trace {
  traced_kernel kernel;
  std::optional<traced_kernel> blocks = {};
};

/// A kernel of the library; its name is that of its function there.
struct library_kernel {
  const char *name;
  location where;
  library_trace (*trace)();
};

/// One more, in the order in which they are named.
int add_to_library(const library_kernel &kernel);

/// A kernel that says itself how many blocks a launch has, as a kernel that writes them to a view
/// behind its own parameters.
template <class K, class Parameters>
struct blocks_kernel;
template <class K, class... P>
struct blocks_kernel<K, std::tuple<P...>> {
  const K *of;

  void operator()(P... parameters, view<i64, 1> made) const {
    const auto write = [&](int axis, const auto &number) {
      made[box<1>(axis)] = cast<i64>(number);
    };
    std::apply(
        [&](const auto &...numbers) {
          static_assert(sizeof...(numbers) >= 1 && sizeof...(numbers) <= 3,
                        "imbrex: `blocks` gives a std::tuple of one to three numbers of blocks");
          int axis = 0;
          (write(axis++, numbers), ...);
          for (; axis < 3; ++axis) made[box<1>(axis)] = i64{1};
        },
        of->blocks(parameters...));
  }
};

template <class K>
constexpr bool has_blocks_member = [] {
  if constexpr (requires { &K::blocks; })
    return std::is_member_function_pointer_v<decltype(&K::blocks)>;
  else
    return false;
}();

template <class K>
library_trace trace_for_library(const K &kernel, const trace_options &options = {},
                                location where = location::current()) {
  library_trace made{.kernel = trace(kernel, options, where)};
  using parameters = typename kernel_traits<K>::parameters;
  const auto has_blocks = []<class... P>(std::type_identity<std::tuple<P...>>) {
    return requires(const K &k, P... p) { k.blocks(p...); };
  };
  static_assert(has_blocks(std::type_identity<parameters>()) || !has_blocks_member<K>,
                "imbrex: `blocks` takes the parameters that the kernel takes, and is const");
  if constexpr (has_blocks(std::type_identity<parameters>()))
    made.blocks = trace(blocks_kernel<K, parameters>{&kernel}, {.name = "blocks"}, where);
  return made;
}

} // namespace imbrex::detail

/// IMBREX_KERNEL(gemm, matmul<bf16, 128, 256, 64>{});
/// IMBREX_KERNEL(gemm, matmul<bf16, 128, 256, 64>{}, {.warps = 8});
///
/// A functor or a lambda, and how it is traced (trace_options) if that is to be said. It becomes
/// the function `gemm` of the library's namespace. A launch brings the grid, unless the functor has
/// a member that computes it from the same parameters:
///
///   auto blocks(view<const T, 2> a, view<const T, 2> b, view<T, 2>) const {
///     return std::tuple(cdiv(a.extent(0), BM), cdiv(b.extent(1), BN));
///   }
#define IMBREX_KERNEL(kernel_name, ...)                                                            \
  [[maybe_unused]] static const int imbrex_kernel_##kernel_name =                                  \
      ::imbrex::detail::add_to_library({#kernel_name, ::imbrex::detail::location::current(), [] {  \
                                          return ::imbrex::detail::trace_for_library(__VA_ARGS__); \
                                        }})
