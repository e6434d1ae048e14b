#pragma once

#include "backend/package/archive/library.h"

namespace imbrex::archive {

/// An object file for the library's processor with the tables of a kernel, its GPUs' code, and its
/// function in C. Constants are all that is in it, but for the places of what is loaded, so that
/// nothing of it runs before it is called.
Result<std::unique_ptr<llvm::MemoryBuffer>> makeTables(const Library &library,
                                                       const LibraryKernel &kernel);

/// One with the list of all the library's kernels, and the function that loads them.
Result<std::unique_ptr<llvm::MemoryBuffer>> makeLoader(const Library &library);

} // namespace imbrex::archive
