#include "backend/ir/print_line.h"

#include "backend/ir/constant_text.h"

namespace imbrex::ir {
namespace {

bool isNan(ElementKind kind, std::uint64_t bits) {
  if (!isFloat(kind) && !isNarrowFloat(kind)) return false;
  const auto width = static_cast<unsigned>(info(kind).bits);
  return llvm::APFloat(floatFormat(kind), llvm::APInt(width, bits)).isNaN();
}

std::string elementText(ElementKind kind, std::uint64_t bits) {
  return isNan(kind, bits) ? "nan" : constantToText(Type::tile(kind), bits);
}

/// The elements from `position` on, as deep in brackets as the shape has axes from `axis` on.
std::string tileText(const PrintedTile &tile, std::int32_t axis, size_t &position) {
  if (axis == tile.type.rank()) return elementText(tile.type.element(), tile.bits[position++]);
  std::string text;
  for (std::int64_t i = 0; i < tile.type.shape()[axis]; ++i)
    text += (i == 0 ? "" : ", ") + tileText(tile, axis + 1, position);
  return "[" + text + "]";
}

} // namespace

std::string printLine(const std::array<std::int32_t, 3> &programId, std::string_view text,
                      llvm::ArrayRef<PrintedTile> tiles) {
  std::string line = "[pid " + std::to_string(programId[0]) + "," + std::to_string(programId[1]) +
                     "," + std::to_string(programId[2]) + "] " + std::string(text);
  bool isFirst = true;
  for (const PrintedTile &tile : tiles) {
    size_t position = 0;
    line += (isFirst ? ": " : ", ") + tileText(tile, 0, position);
    isFirst = false;
  }
  return line;
}

std::string elementPlace(const Shape &shape, std::int64_t element,
                         const std::array<std::int32_t, 3> &programId) {
  std::string index;
  for (std::int32_t axis = shape.rank(); axis-- > 0; element /= shape[axis])
    index = std::to_string(element % shape[axis]) + (index.empty() ? "" : ", ") + index;
  const std::string block = "block [" + std::to_string(programId[0]) + ", " +
                            std::to_string(programId[1]) + ", " + std::to_string(programId[2]) +
                            "]";
  return shape.rank() == 0 ? "in " + block : "at tile index [" + index + "] of " + block;
}

} // namespace imbrex::ir
