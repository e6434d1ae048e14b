#pragma once

#include "backend/support/result.h"
#include "imbrex/detail/array_memory.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace imbrex::runtime {

/// What a check is about: an argument of this name, or an array that has none yet.
struct Subject {
  std::string_view argument = {};
};
std::string toText(Subject subject);

/// How many elements lie from the first to the last, both counted; none for an empty array. Only
/// for a layout without an error.
std::int64_t elementsSpanned(const detail::layout &layout);
std::int64_t bytesSpanned(const detail::layout &layout, std::int64_t bitsOfOne);

/// What is wrong with a layout, if something is: an extent or a stride below 0, or more elements
/// than any memory has.
std::optional<Diagnostic> checkLayout(const detail::layout &layout, Subject what, Location where);
/// Whether it reaches beyond memory of so many bytes.
std::optional<Diagnostic> checkReach(const detail::layout &layout, std::int64_t bitsOfOne,
                                     std::int64_t bytes, Subject what, Location where);

} // namespace imbrex::runtime
