#pragma once

#include "backend/ir/argument.h"

#include <cstddef>
#include <vector>

namespace imbrex::testing {

/// A table with a pointer to each of so many equal parts of an array.
inline ir::PointerTable tableOfParts(std::vector<std::byte> &memory, std::int64_t parts) {
  std::vector<ir::Argument> pointees(static_cast<std::size_t>(parts));
  const std::int64_t bytes = parts == 0 ? 0 : std::ssize(memory) / parts;
  for (std::int64_t i = 0; i < parts; ++i) {
    ir::Argument &part = pointees[static_cast<std::size_t>(i)];
    part.data = memory.data() + i * bytes;
    part.bytes = bytes;
  }
  return ir::PointerTable(std::move(pointees));
}

} // namespace imbrex::testing
