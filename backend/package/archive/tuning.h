#pragma once

#include "backend/package/archive/library.h"

#include <string_view>

/// Tuning tables: which configuration of a kernel launches of which sizes run, by device. Nothing
/// is timed when a program runs.
///
///   {"gemm": [{"targets": ["sm_90a"], "where": {"c.extent(0)": [4096, null]}, "config": "wide"},
///             {"where": {"c.extent(0)": [1, 32]}, "config": "flat"}]}
///
/// Rows count in order. One without `targets` is about all targets; a range is [least, most], a
/// number for both, or null for no bound.
namespace imbrex::archive {

/// Give the library's kernels the rows of a table, the JSON `text` of `file`, and configurations
/// the targets that rows want them for. Targets that the library is not made for are left out.
/// False where an error was reported.
bool readTuning(std::string_view file, std::string_view text, const LibraryOptions &options,
                Library &library, Diagnostics &diagnostics);

} // namespace imbrex::archive
