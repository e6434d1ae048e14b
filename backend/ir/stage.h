#pragma once

#include "backend/ir/choices.h"

#include <cstdint>
#include <string_view>

namespace imbrex::ir {

/// How far a kernel has come. Each pass starts at one stage and reaches one; the verifier holds a
/// kernel to the rules of its stage.
enum class Stage : std::uint8_t {
  Traced,    // as recorded: variables are read and written
  Tiles,     // SSA: no variables
  Laid,      // every tile has a layout on the threads of a block
  Scheduled, // loops run ahead as was decided: slots, copies into them, waits, roles
};
template <>
inline constexpr std::string_view kNames<Stage>[] = {"traced", "tiles", "laid", "scheduled"};

} // namespace imbrex::ir
