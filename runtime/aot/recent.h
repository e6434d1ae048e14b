#pragma once

#include "runtime/aot/loaded.h"

/// What the calling thread has launched lately on GPUs. A launch of the same arguments, but for
/// numbers from which nothing follows, is handed to the driver without another look at them: what
/// they keep, whose memory they are and which code may run are known. Memory that was the GPU's
/// counts as such from then on.
namespace imbrex::aot {

/// A launch as it is asked for.
struct Asked {
  const KernelRow &kernel;
  const imbrex_stream &on;
  const imbrex_grid *grid; ///< Null where the kernel is to compute it.
  const void *const *arguments;
};

/// The same with the words of its arguments (`givenWords`).
struct AskedWords {
  const KernelRow &kernel;
  const imbrex_stream &on;
  const imbrex_grid *grid;
  const std::uint64_t *words;
};

/// Make the launch, in a GPU's stream, if one like it was made. An imbrex_status, or kNotRecent.
inline constexpr int kNotRecent = -1;
int launchAgain(const AskedWords &asked) noexcept;

/// Keep what the GPU's driver has taken. Throws std::bad_alloc, and has kept nothing.
void keepRecent(const Asked &asked, const driver::Gpu &gpu, const Ready &ready,
                const driver::Launch &launch);

} // namespace imbrex::aot
