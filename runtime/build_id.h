#pragma once

#include <string>

namespace imbrex::runtime {

/// What makes the code: the linker's marks of the file that this is in and of LLVM's, which may be
/// the same. Empty where one has none, so that nobody knows what it makes.
const std::string &buildId();

} // namespace imbrex::runtime
