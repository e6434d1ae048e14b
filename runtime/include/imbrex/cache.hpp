#pragma once

#include <imbrex/detail/compiler.hpp>

#include <cstddef>

namespace imbrex {

/// The compiled kernels that the process keeps. Two `jit` of one kernel share what was compiled for
/// the first.
struct cache_statistics {
  std::size_t entries = 0;
  std::size_t hits = 0;   ///< first launches that found their kernel compiled
  std::size_t misses = 0; ///< first launches that compiled it
};
cache_statistics cache_usage();

/// Forget what was compiled, but for what launchers still hold.
void clear_cache();

} // namespace imbrex
