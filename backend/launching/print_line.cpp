#include "backend/launching/print_line.h"

namespace imbrex::launching {
namespace {

/// "3,0,0"
std::string indexText(std::span<const std::int32_t> index, const char *between) {
  std::string text;
  for (const std::int32_t one : index)
    text.append(text.empty() ? "" : between).append(std::to_string(one));
  return text;
}

/// The elements from `position` on, as deep in brackets as there are axes from `axis` on.
std::string tileText(const PrintedTile &tile, std::size_t axis, std::size_t &position) {
  const std::span<const std::int64_t> extents = extentsOf(tile.of);
  if (axis == extents.size()) return elementText(tile.of.number, tile.bits[position++]);
  std::string text = "[";
  for (std::int64_t i = 0; i < extents[axis]; ++i)
    text.append(i == 0 ? "" : ", ").append(tileText(tile, axis + 1, position));
  return text + "]";
}

} // namespace

std::int64_t elementsOf(const ObservedTile &tile) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : extentsOf(tile)) elements *= extent;
  return elements;
}

std::string printLine(const BlockIndex &block, std::string_view text,
                      std::span<const PrintedTile> tiles) {
  std::string line = "[pid " + indexText(block, ",") + "] " + std::string(text);
  bool isFirst = true;
  for (const PrintedTile &tile : tiles) {
    std::size_t position = 0;
    line.append(isFirst ? ": " : ", ").append(tileText(tile, 0, position));
    isFirst = false;
  }
  return line;
}

std::string elementPlace(std::span<const std::int64_t> extents, std::int64_t element,
                         const BlockIndex &block) {
  std::string index;
  for (std::size_t axis = extents.size(); axis-- > 0; element /= extents[axis])
    index = std::to_string(element % extents[axis]) + (index.empty() ? "" : ", ") + index;
  const std::string where = "block [" + indexText(block, ", ") + "]";
  return extents.empty() ? "in " + where : "at tile index [" + index + "] of " + where;
}

} // namespace imbrex::launching
