#pragma once

#include "backend/support/result.h"
#include "imbrex/detail/array_memory.hpp"

#include <optional>
#include <string_view>

namespace imbrex::runtime {

/// How many elements lie from the first to the last, both counted; none for an empty array. Only
/// for a layout without an error.
std::int64_t elementsSpanned(const detail::layout &layout);

/// What is wrong with a layout, if something is: an extent or a stride below 0, or more elements
/// than any memory has. `what` names it in the message, as in "the argument 'x'".
std::optional<Diagnostic> checkLayout(const detail::layout &layout, std::string_view what,
                                      Location where);
/// Whether it reaches beyond memory of so many bytes.
std::optional<Diagnostic> checkReach(const detail::layout &layout, std::int64_t bitsOfOne,
                                     std::int64_t bytes, std::string_view what, Location where);

} // namespace imbrex::runtime
