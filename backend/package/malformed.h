#pragma once

#include "backend/support/result.h"

#include <string_view>

namespace imbrex::package {

/// What a reader says of bytes that are no package: "it is cut off".
inline Failure<Diagnostic> malformed(std::string_view why) {
  return fail(Diag::MalformedPackage, {}, why);
}

} // namespace imbrex::package
