#include "backend/layout/layout_text.h"

#include "backend/support/text.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"

#include <vector>

namespace imbrex::layout {
namespace {

/// Extents and packed coordinates must fit into 64 bits, with their ends.
constexpr std::int32_t kMaxBits = 62;

bool areAxesInOrder(llvm::ArrayRef<Side> sides) {
  for (std::size_t axis = 0; axis < sides.size(); ++axis)
    if (sides[axis].dim != axisDim(static_cast<std::int32_t>(axis))) return false;
  return true;
}

std::string extentText(const Side &side) { return std::to_string(Bits{1} << side.bits); }

/// `[4x8]`, or `offset [32]`.
std::string outputText(llvm::ArrayRef<Side> sides) {
  if (areAxesInOrder(sides)) return "[" + joined(llvm::map_range(sides, extentText), "x") + "]";
  const auto named = [](const Side &side) {
    return std::string(nameOf(side.dim)) + " [" + extentText(side) + "]";
  };
  return joined(llvm::map_range(sides, named), " ");
}

std::string columnText(const LinearLayout &layout, Bits column) {
  const auto part = [&](const Side &side) { return layout.outputPart(column, side.dim); };
  return "[" + joined(llvm::map_range(layout.outputs(), part), ",") + "]";
}

/// What a text says, before it is known to make sense.
struct InputText {
  Dim dim;
  std::vector<std::vector<Bits>> columns;
};

using Problem = Failure<std::string>;

/// Takes a text apart from its beginning. What is not there is not taken.
class LayoutReader {
public:
  explicit LayoutReader(std::string_view text) : rest_(text) { skipSpace(); }

  bool take(std::string_view sign) {
    if (!rest_.consume_front(sign)) return false;
    skipSpace();
    return true;
  }

  /// The whole word: `of` does not begin `offset`.
  bool takeWord(std::string_view word) {
    const std::size_t end = std::min(word.size(), rest_.size());
    const bool goesOn = end < rest_.size() && llvm::isAlnum(rest_[end]);
    return !goesOn && take(word);
  }

  std::optional<Dim> takeDim() {
    for (auto dim = Dim::Register; dim <= Dim::Axis4;
         dim = static_cast<Dim>(static_cast<std::int32_t>(dim) + 1))
      if (takeWord(nameOf(dim))) return dim;
    return std::nullopt;
  }

  std::optional<Bits> takeNumber() {
    Bits number = 0;
    if (rest_.consumeInteger(10, number)) return std::nullopt;
    skipSpace();
    return number;
  }

  bool atEnd() const { return rest_.empty(); }

  /// The problem that something else should stand here.
  Problem expected(std::string_view what) const {
    return {"expected " + std::string(what) +
            (atEnd() ? ", and the text ends" : " at '" + rest_.take_front(12).str() + "'")};
  }

private:
  void skipSpace() { rest_ = rest_.ltrim(" \t\n"); }

  llvm::StringRef rest_;
};

/// `[` items with commas between `]`.
template <class TakeItem>
bool takeList(LayoutReader &reader, TakeItem takeItem) {
  if (!reader.take("[")) return false;
  if (reader.take("]")) return true;
  do {
    if (!takeItem()) return false;
  } while (reader.take(","));
  return reader.take("]");
}

bool takeColumn(LayoutReader &reader, std::vector<Bits> &column) {
  return takeList(reader, [&] {
    const auto number = reader.takeNumber();
    if (number) column.push_back(*number);
    return number.has_value();
  });
}

bool takeColumns(LayoutReader &reader, std::vector<std::vector<Bits>> &columns) {
  return takeList(reader, [&] { return takeColumn(reader, columns.emplace_back()); });
}

Result<Sides, std::string> makeSide(Sides sides, Dim dim, Bits extent) {
  if (!llvm::has_single_bit(extent))
    return Problem{"the extent " + std::to_string(extent) + " is no power of two"};
  const auto same = [&](const Side &side) { return side.dim == dim; };
  if (llvm::any_of(sides, same)) return Problem{std::string(nameOf(dim)) + " is there twice"};
  sides.push_back({dim, llvm::countr_zero(extent)});
  return sides;
}

/// `4x8]`, what stands behind the bracket.
Result<Sides, std::string> takeShape(LayoutReader &reader) {
  Sides sides;
  if (reader.take("]")) return sides;
  do {
    const auto extent = reader.takeNumber();
    if (!extent) return reader.expected("an extent");
    const auto axis = static_cast<std::int32_t>(sides.size());
    if (axis > static_cast<std::int32_t>(Dim::Axis4) - static_cast<std::int32_t>(Dim::Axis0))
      return Problem{"a tile has at most 5 axes"};
    auto more = makeSide(sides, axisDim(axis), *extent);
    if (!more) return more;
    sides = *more;
  } while (reader.take("x"));
  if (!reader.take("]")) return reader.expected("'x' or ']'");
  return sides;
}

Result<Sides, std::string> takeOutputs(LayoutReader &reader) {
  if (reader.take("[")) return takeShape(reader);
  Sides sides;
  while (const auto dim = reader.takeDim()) {
    const bool opens = reader.take("[");
    const std::optional<Bits> extent = opens ? reader.takeNumber() : std::nullopt;
    if (!extent || !reader.take("]")) return reader.expected("an extent in brackets");
    auto more = makeSide(sides, *dim, *extent);
    if (!more) return more;
    sides = *more;
  }
  if (sides.empty()) return reader.expected("extents, such as [4x8],");
  return sides;
}

Result<Bits, std::string> packed(llvm::ArrayRef<Bits> coordinates, llvm::ArrayRef<Side> outputs) {
  if (coordinates.size() != outputs.size())
    return Problem{"a bit goes to " + std::to_string(coordinates.size()) +
                   " coordinates, and there are " + std::to_string(outputs.size()) + " extents"};
  Bits column = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (coordinates[i] >> outputs[i].bits != 0)
      return Problem{"the coordinate " + std::to_string(coordinates[i]) +
                     " lies outside the extent " + extentText(outputs[i])};
    column = column << outputs[i].bits | coordinates[i];
  }
  return column;
}

Result<LinearLayout, std::string> assemble(llvm::ArrayRef<InputText> read, const Sides &outputs) {
  Sides inputs;
  llvm::SmallVector<Bits, 16> columns;
  for (const InputText &input : read) {
    inputs.push_back({input.dim, static_cast<std::int32_t>(input.columns.size())});
    for (const auto &coordinates : input.columns) {
      auto column = packed(coordinates, outputs);
      if (!column) return column.failure();
      columns.push_back(*column);
    }
  }
  if (columns.size() > kMaxBits) return Problem{"there are more than 62 input bits"};
  return LinearLayout(inputs, outputs, columns);
}

} // namespace

std::string toText(const LinearLayout &layout) {
  std::string text;
  const auto asText = [&](Bits column) { return columnText(layout, column); };
  for (const Side &side : layout.inputs())
    text += std::string(nameOf(side.dim)) + " [" +
            joined(llvm::map_range(layout.columns(side.dim), asText), ",") + "] ";
  return text + "of " + outputText(layout.outputs());
}

Result<LinearLayout, std::string> parseLayout(std::string_view text) {
  LayoutReader reader(text);
  std::vector<InputText> read;
  while (!reader.takeWord("of")) {
    const auto dim = reader.takeDim();
    if (!dim) return reader.expected("register, lane, warp, offset, axis0 … axis4, or 'of'");
    const auto same = [&](const InputText &input) { return input.dim == *dim; };
    if (llvm::any_of(read, same)) return Problem{std::string(nameOf(*dim)) + " is there twice"};
    read.push_back({*dim, {}});
    if (!takeColumns(reader, read.back().columns))
      return reader.expected("a list of coordinates, such as [[0,1],[0,2]],");
  }
  auto outputs = takeOutputs(reader);
  if (!outputs) return outputs.failure();
  if (!reader.atEnd()) return reader.expected("the end");
  if (totalBits(*outputs) > kMaxBits) return Problem{"the extents need more than 62 bits"};
  return assemble(read, *outputs);
}

} // namespace imbrex::layout
