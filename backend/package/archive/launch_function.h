#pragma once

#include "backend/package/archive/library.h"
#include "llvm/IR/Module.h"

namespace imbrex::archive {

/// The functions of a kernel in C, which launch it: `int app_gemm(const imbrex_stream *, const
/// imbrex_grid *, …)`, without the grid where the kernel knows it, and the same for DLPack's
/// tensors.
///
///   int app_scale(const imbrex_stream *on, const imbrex_grid *grid, const imbrex_memory *x,
///                 float by) {
///     if (x == NULL) return imbrex_aot_launch(table, on, grid, (const void *[]){x, &by});
///     return imbrex_aot_launch_words(table, on, grid,
///                                    (const uint64_t[]){(uint64_t)x->data, x->bytes, bits(by),
///                                    …});
///   }
///
/// Words are what a launch can compare with an earlier one's at once, whatever the parameters are.
/// One that prints or asserts is never made again, and is told pointers alone, as is one of
/// tensors.
void emitLaunchFunctions(llvm::Module &module, const std::string &symbol, const LibraryKernel &of,
                         llvm::Constant *table);

} // namespace imbrex::archive
