#pragma once

#include "backend/ir/kernel.h"

#include <string>
#include <string_view>
#include <vector>

/// Names that C and C++ can have.
namespace imbrex::archive {

/// Letters, digits and '_', and no word of C or C++, nor one that their headers make another of.
bool isName(std::string_view text);

/// What the functions of a library call a kernel's parameters: as the kernel does where that is a
/// name, and no two alike. `LDA` is `lda`, as a header might have a macro of that name, and
/// `size_t` is `size_t_`.
std::vector<std::string> parameterNames(const ir::Kernel &kernel);

/// What they call the rest.
inline constexpr const char *kStreamName = "on", *kGridName = "blocks";

} // namespace imbrex::archive
