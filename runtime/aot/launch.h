#pragma once

#include "backend/package/choice/tables.h"
#include "imbrex/aot.h"

namespace imbrex::aot {

/// Make a launch that is not the one that is expected (imbrex_aot_launch_words_…): of any stream,
/// new or not, seen by hooks or not. An imbrex_status.
int launchUnexpected(const KernelRow &kernel, const imbrex_stream *stream, const imbrex_grid *grid,
                     const std::uint64_t *words) noexcept;

} // namespace imbrex::aot
