#pragma once

#include "backend/package/archive/library.h"

#include <string>

namespace imbrex::archive {

/// The library as a static one, an `ar` archive, whose bytes depend on nothing but what is in it.
Result<void> writeArchive(const Library &library, const std::string &path);

} // namespace imbrex::archive
