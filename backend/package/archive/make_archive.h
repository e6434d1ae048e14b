#pragma once

#include "backend/package/archive/library.h"

namespace imbrex::archive {

/// The bytes of the library as a static one, an `ar` archive, which depend on nothing but what is
/// in it.
Result<std::unique_ptr<llvm::MemoryBuffer>> makeArchive(const Library &library);

} // namespace imbrex::archive
