#pragma once

#include "llvm/Support/Compiler.h"

/// Whether a test is built with the address sanitizer, under which programs take more address space
/// than any limit leaves, and emulated threads a multiple of their time.
namespace imbrex::testing {

inline constexpr bool kHasAddressSanitizer = LLVM_ADDRESS_SANITIZER_BUILD != 0;

} // namespace imbrex::testing
