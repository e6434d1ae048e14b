#pragma once

#include "backend/ir/types.h"
#include "backend/launching/element_text.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace imbrex::ir {

/// How the bits of an element are a number.
launching::NumberForm numberForm(ElementKind kind);

/// A constant's bits as a number of its type: `true`, `-3`, the shortest decimal that reads back as
/// the same float, `nan` (the canonical one), `inf`, `-inf`; bits that have no such name as `0x…`.
std::string constantToText(const Type &type, std::uint64_t bits);

/// The inverse; nothing where the type cannot hold the number. A decimal between two floats rounds
/// to the nearest, ties to even.
std::optional<std::uint64_t> constantFromText(const Type &type, std::string_view text);

/// The bits of the canonical quiet NaN; nothing for a format without one.
std::optional<std::uint64_t> canonicalNan(ElementKind kind);

} // namespace imbrex::ir
