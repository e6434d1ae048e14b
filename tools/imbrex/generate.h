#pragma once

#include "backend/ir/types.h"
#include "backend/support/result.h"

#include <cstddef>
#include <span>
#include <vector>

namespace imbrex::tool {

struct Assignment;

enum class GeneratorKind : std::uint8_t { Zeros, Ones, Empty, Arange, Random };

/// `zeros:f32:128x64` taken apart.
struct Generator {
  GeneratorKind kind;
  std::optional<ir::ElementKind> element;
  std::vector<std::int64_t> shape;
};
Result<Generator> parseGenerator(const Assignment &assignment);

/// Set an array's elements. Random ones are the same in every run.
void generate(GeneratorKind kind, ir::ElementKind element, std::span<std::byte> memory);

} // namespace imbrex::tool
