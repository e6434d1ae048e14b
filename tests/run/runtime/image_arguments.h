#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace imbrex::testing {

/// Where a kernel finds one of its arguments, as its image says.
struct ArgumentPlace {
  std::uint32_t offset;
  std::uint32_t bytes;

  friend bool operator==(const ArgumentPlace &, const ArgumentPlace &) = default;
};

/// The explicit arguments of a kernel, in order, read from what the vendor's own tools left for the
/// vendor's driver in a cubin, PTX or a code object. Empty where nothing can be read.
std::vector<ArgumentPlace> argumentsInImage(llvm::StringRef image, const std::string &kernel);

} // namespace imbrex::testing
