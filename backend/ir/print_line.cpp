#include "backend/ir/print_line.h"

#include <bit>
#include <charconv>

namespace imbrex::ir {
namespace {

template <class F> std::string shortest(F value) {
  std::array<char, 32> buffer{};
  if (value != value) return "nan"; // the sign of a NaN means nothing
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

std::string hexadecimal(std::uint64_t value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, 16).ptr;
  return "0x" + std::string(buffer.data(), end);
}

std::string floatText(ElementKind kind, std::uint64_t bits) {
  llvm::APFloat value(floatFormat(kind), llvm::APInt(static_cast<unsigned>(info(kind).bits), bits));
  bool inexact = false;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return kind == ElementKind::F64 ? shortest(value.convertToDouble())
                                  : shortest(static_cast<float>(value.convertToDouble()));
}

/// The elements from `position` on, as deep in brackets as `shape` has axes from `axis` on.
std::string tileText(const PrintedTile &tile, std::int32_t axis, size_t &position) {
  if (axis == tile.type.rank()) {
    const std::uint64_t bits = tile.bits[position++];
    return tile.type.isPointerTile() ? hexadecimal(bits) : elementText(tile.type.element(), bits);
  }
  std::string text;
  for (std::int64_t i = 0; i < tile.type.shape()[axis]; ++i)
    text += (i == 0 ? "" : ", ") + tileText(tile, axis + 1, position);
  return "[" + text + "]";
}

} // namespace

std::string elementText(ElementKind kind, std::uint64_t bits) {
  switch (info(kind).family) {
  case ElementFamily::Bool: return bits != 0 ? "true" : "false";
  case ElementFamily::Signed: {
    const std::int32_t unused = 64 - info(kind).bits;
    return std::to_string(static_cast<std::int64_t>(bits << unused) >> unused);
  }
  case ElementFamily::Unsigned: return std::to_string(bits);
  case ElementFamily::Float:
  case ElementFamily::NarrowFloat: return floatText(kind, bits);
  }
  return {};
}

std::string printLine(const std::array<std::int32_t, 3> &programId, std::string_view text,
                      llvm::ArrayRef<PrintedTile> tiles) {
  std::string line = "[pid " + std::to_string(programId[0]) + "," + std::to_string(programId[1]) +
                     "," + std::to_string(programId[2]) + "] " + std::string(text);
  for (const PrintedTile &tile : tiles) {
    size_t position = 0;
    line += (&tile == tiles.begin() ? ": " : ", ") + tileText(tile, 0, position);
  }
  return line;
}

} // namespace imbrex::ir
