#pragma once

#include <imbrex/dsl.hpp>

#include <optional>

/// What a file includes that says which kernels are compiled ahead of time. `imbrex_add_kernels`
/// makes a program of it, the generator, which writes the library, its headers and its manifest;
/// it is the only one to link the compiler.
namespace imbrex::detail {

/// What is recorded of a kernel.
struct library_trace {
  traced_kernel kernel;
  std::optional<traced_kernel> blocks = {};
};

/// A kernel of the library, or a configuration of one; its name is that of its function there.
struct library_kernel {
  const char *name;
  const char *config; ///< Its own name; null of the kernel itself.
  location where;
  library_trace (*trace)();
};

/// One more, in the order in which they are named.
int add_to_library(const library_kernel &kernel);

template <class K>
library_trace trace_for_library(const K &kernel, const trace_options &options = {},
                                location where = location::current()) {
  return {.kernel = trace(kernel, options, where), .blocks = trace_blocks(kernel, where)};
}

} // namespace imbrex::detail

#define IMBREX_DETAIL_JOINED_AS_THEY_ARE(a, b) a##b
#define IMBREX_DETAIL_JOINED(a, b) IMBREX_DETAIL_JOINED_AS_THEY_ARE(a, b)

/// IMBREX_KERNEL(gemm, matmul<bf16, 128, 256, 64>{});
/// IMBREX_KERNEL(gemm, matmul<bf16, 128, 256, 64>{}, {.warps = 8});
///
/// A functor or a lambda, and how it is traced (trace_options) if that is to be said. It becomes
/// the function `gemm` of the library's namespace. A line may have several, as one that a macro
/// makes. A launch brings the grid, unless the functor computes it (imbrex/blocks.hpp).
#define IMBREX_KERNEL(kernel_name, ...)                                                            \
  [[maybe_unused]] static const int IMBREX_DETAIL_JOINED(imbrex_kernel_##kernel_name##_,           \
                                                         __LINE__) =                               \
      ::imbrex::detail::add_to_library(                                                            \
          {#kernel_name, nullptr, ::imbrex::detail::location::current(),                           \
           [] { return ::imbrex::detail::trace_for_library(__VA_ARGS__); }})

/// IMBREX_KERNEL_CONFIG(gemm, wide, matmul<bf16, 256, 256, 64>{}, {.warps = 8});
///
/// Another functor for the kernel `gemm`, of the same parameters: what launches run for which a row
/// of the library's tuning table names the configuration `wide`.
#define IMBREX_KERNEL_CONFIG(kernel_name, config_name, ...)                                        \
  [[maybe_unused]] static const int IMBREX_DETAIL_JOINED(                                          \
      imbrex_kernel_##kernel_name##_##config_name##_, __LINE__) =                                  \
      ::imbrex::detail::add_to_library(                                                            \
          {#kernel_name, #config_name, ::imbrex::detail::location::current(),                      \
           [] { return ::imbrex::detail::trace_for_library(__VA_ARGS__); }})
