#include "backend/interpret/value.h"

#include "backend/support/text.h"

namespace imbrex::interpret {

Index indexAt(const ir::Shape &shape, std::int64_t position) {
  Index index(static_cast<size_t>(shape.rank()), 0);
  for (std::int32_t axis = shape.rank() - 1; axis >= 0; --axis) {
    index[static_cast<size_t>(axis)] = position % shape[axis];
    position /= shape[axis];
  }
  return index;
}

std::int64_t positionOf(const ir::Shape &shape, const Index &index) {
  std::int64_t position = 0;
  for (std::int32_t axis = 0; axis < shape.rank(); ++axis)
    position = position * shape[axis] + index[static_cast<size_t>(axis)];
  return position;
}

std::string toText(const Index &index) { return joined(index); }

} // namespace imbrex::interpret
