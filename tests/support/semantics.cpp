#include "tests/support/semantics.h"

#include "backend/ir/constant_text.h"
#include "backend/ir/text.h"
#include "backend/ir/verify.h"
#include "backend/support/check.h"
#include "tests/support/parts_table.h"
#include "tests/support/reference_number.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>

namespace imbrex::semantics {
namespace {

using ir::ElementKind;

double numberOf(ElementKind kind, std::uint64_t bits) {
  if (kind == ElementKind::Bool) return bits != 0 ? 1 : 0;
  if (!isAnyFloat(kind)) {
    const std::int32_t unused = 64 - ir::info(kind).bits;
    return ir::isSigned(kind)
               ? static_cast<double>(static_cast<std::int64_t>(bits << unused) >> unused)
               : static_cast<double>(bits);
  }
  llvm::APFloat value(ir::floatFormat(kind),
                      llvm::APInt(static_cast<unsigned>(ir::info(kind).bits), bits));
  bool inexact = false;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return value.convertToDouble();
}

// ---- Memory

std::vector<std::byte> packed(const Tile &tile) {
  const auto width = static_cast<size_t>(ir::storageBits(tile.element));
  std::vector<std::byte> bytes((tile.bits.size() * width + 7) / 8);
  for (size_t i = 0; i < tile.bits.size(); ++i) {
    if (width == 4)
      bytes[i / 2] |= static_cast<std::byte>(tile.bits[i] << (i % 2 * 4));
    else
      std::memcpy(&bytes[i * width / 8], &tile.bits[i], width / 8);
  }
  return bytes;
}

Tile unpacked(const std::vector<std::byte> &bytes, const Tile &like) {
  const auto width = static_cast<size_t>(ir::storageBits(like.element));
  Tile tile = like;
  for (size_t i = 0; i < tile.bits.size(); ++i) {
    tile.bits[i] = 0;
    if (width == 4)
      tile.bits[i] = std::to_integer<std::uint64_t>(bytes[i / 2]) >> (i % 2 * 4) & 0xf;
    else
      std::memcpy(&tile.bits[i], &bytes[i * width / 8], width / 8);
  }
  return tile;
}

ir::Argument argumentFor(const ir::Type &type, const CaseArgument &from,
                         std::vector<std::byte> &memory) {
  const Tile &tile = from.before;
  ir::Argument argument;
  if (type.isScalar()) {
    argument.scalar = tile.bits.front();
    return argument;
  }
  argument.data = memory.data();
  argument.bytes = static_cast<std::int64_t>(memory.size());
  std::int64_t stride = 1;
  for (std::int32_t axis = tile.shape.rank() - 1; axis >= 0; --axis) {
    argument.extents[static_cast<size_t>(axis)] = tile.shape[axis];
    argument.strides[static_cast<size_t>(axis)] = stride;
    stride *= tile.shape[axis];
  }
  std::ranges::copy(from.strides, argument.strides.begin());
  return argument;
}

// ---- Comparison

bool isSame(ElementKind kind, std::uint64_t got, std::uint64_t wanted, double slack) {
  if (got == wanted) return true;
  if (!isAnyFloat(kind)) return false;
  const double a = numberOf(kind, got), b = numberOf(kind, wanted);
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return slack > 0 && std::isfinite(a) && std::fabs(a - b) <= slack;
}

double largestOf(const Tile &tile) {
  double largest = 0;
  for (const std::uint64_t bits : tile.bits)
    if (const double number = numberOf(tile.element, bits); std::isfinite(number))
      largest = std::max(largest, std::fabs(number));
  return largest;
}

std::string difference(const std::string &name, const Tile &got, const Tile &wanted,
                       double tolerance) {
  const double slack = tolerance > 0 ? tolerance * largestOf(wanted) : 0;
  const ir::Type type = ir::Type::tile(wanted.element);
  for (size_t i = 0; i < wanted.bits.size(); ++i)
    if (!isSame(wanted.element, got.bits[i], wanted.bits[i], slack))
      return name + "[" + std::to_string(i) + "] is " + ir::constantToText(type, got.bits[i]) +
             ", not " + ir::constantToText(type, wanted.bits[i]);
  return {};
}

// ---- Kernels made from ops

std::string typeText(const Tile &tile) {
  return ir::toString(ir::Type::tile(tile.element, tile.shape));
}

std::string viewText(const Tile &tile, bool isConst) {
  return "view<" + std::string(isConst ? "const " : "") + std::string(ir::info(tile.element).name) +
         ", " + std::to_string(std::max(tile.shape.rank(), 1)) + ">";
}

std::string listed(const std::string &prefix, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + prefix + std::to_string(i);
  return text;
}

/// `, %at, %at` for each axis of a box.
std::string coordinates(const std::string &at, std::int32_t rank) {
  std::string text;
  for (std::int32_t axis = 0; axis < rank; ++axis) text += ", " + at;
  return text;
}

struct Text {
  std::string parameters, loads, stores;

  void input(size_t i, const Tile &tile, const std::string &at) {
    const std::string number = std::to_string(i);
    parameters += parameters.empty() ? "" : ", ";
    if (tile.shape.rank() == 0) {
      parameters += "%x" + number + ": " + typeText(tile);
      return;
    }
    parameters += "%in" + number + ": " + viewText(tile, true);
    loads += "  %x" + number + " = view.load %in" + number + coordinates(at, tile.shape.rank()) +
             " : " + typeText(tile) + "\n";
  }
  void output(size_t i, const Tile &tile, const std::string &at) {
    const std::string number = std::to_string(i);
    parameters +=
        (parameters.empty() ? "" : ", ") + ("%out" + number + ": ") + viewText(tile, false);
    std::string value = "%y" + number;
    if (tile.shape.rank() == 0) {
      const Tile one{tile.element, {1}, {}};
      stores += "  %o" + number + " = broadcast " + value + " : " + typeText(one) + "\n";
      value = "%o" + number;
    }
    stores += "  view.store %out" + number + ", " + value +
              coordinates(at, std::max(tile.shape.rank(), 1)) + "\n";
  }
  std::string kernel(const std::string &first, const std::string &op) const {
    return "kernel @case(" + parameters + ") stage tiles {\n" + first + loads + op + stores + "}\n";
  }
};

Tile cleared(const Tile &tile) {
  Tile zeros = tile.shape.rank() == 0 ? Tile{tile.element, {1}, tile.bits} : tile;
  std::ranges::fill(zeros.bits, 0);
  return zeros;
}

} // namespace

std::uint64_t bitsOf(ElementKind element, double number) {
  if (std::isnan(number)) return *ir::canonicalNan(element);
  const std::int32_t unused = 64 - ir::info(element).bits;
  std::uint64_t bits = 0;
  if (!isAnyFloat(element)) {
    bits = number < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(number))
                      : static_cast<std::uint64_t>(number);
    bits = bits << unused >> unused;
  } else {
    llvm::APFloat value(number);
    bool inexact = false;
    value.convert(ir::floatFormat(element), llvm::APFloat::rmNearestTiesToEven, &inexact);
    bits = value.bitcastToAPInt().getZExtValue();
  }
  IMBREX_CHECK(numberOf(element, bits) == number, "{0} does not hold {1}", ir::info(element).name,
               number);
  return bits;
}

Tile tile(ElementKind element, const ir::Shape &shape, const std::vector<double> &numbers) {
  IMBREX_CHECK(std::ssize(numbers) == shape.elements(), "a tile needs a number for each element");
  Tile result{element, shape, {}};
  for (const double number : numbers) result.bits.push_back(bitsOf(element, number));
  return result;
}

Tile scalar(ElementKind element, double number) { return tile(element, {}, {number}); }

Case toCase(const OpCase &op) {
  Text text;
  Case result{op.name, {}, {}, {}, op.tolerance};
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    text.input(i, op.inputs[i], "%zero");
    result.arguments.push_back({op.inputs[i]});
  }
  std::string types;
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    text.output(i, op.outputs[i], "%zero");
    types += (i == 0 ? "" : ", ") + typeText(op.outputs[i]);
    result.arguments.push_back({cleared(op.outputs[i]), op.outputs[i]});
  }
  result.text = text.kernel("  %zero = constant 0 : i32\n",
                            "  " + listed("%y", op.outputs.size()) + " = " + op.op + " " +
                                listed("%x", op.inputs.size()) + " " + op.attributes + " " +
                                op.regions + " : " + types + "\n");
  return result;
}

std::vector<Case> toCases(const std::vector<OpCase> &ops) {
  std::vector<Case> cases;
  for (const OpCase &op : ops) cases.push_back(toCase(op));
  return cases;
}

Case toCase(const ElementwiseCase &op) {
  constexpr std::int64_t kTile = 256;
  const auto rows = static_cast<std::int64_t>(op.rows.size());
  const std::int64_t extent = std::min(rows, kTile);
  Case result{op.op + " of " + std::string(ir::info(op.operands[0]).name) + " to " +
                  std::string(ir::info(op.result).name) + " " + op.attributes,
              {},
              {}};
  result.grid.extents[0] = static_cast<std::int32_t>((rows + extent - 1) / extent);
  Text text;
  for (size_t column = 0; column <= op.operands.size(); ++column) {
    const bool isResult = column == op.operands.size();
    Tile whole{isResult ? op.result : op.operands[column], {rows}, {}};
    for (const auto &row : op.rows) whole.bits.push_back(row[column]);
    const Tile box{whole.element, {extent}, {}};
    if (isResult)
      text.output(0, box, "%block");
    else
      text.input(column, box, "%block");
    result.arguments.push_back(isResult ? CaseArgument{cleared(whole), whole}
                                        : CaseArgument{whole});
  }
  result.text = text.kernel("  %block = program_id : i32\n",
                            "  %y0 = " + op.op + " " + listed("%x", op.operands.size()) + " " +
                                op.attributes + " : " + typeText({op.result, {extent}, {}}) + "\n");
  return result;
}

ir::Kernel kernelOf(const Case &question) {
  Diagnostics diagnostics;
  auto kernel = ir::parse(question.text, question.name, diagnostics);
  IMBREX_CHECK(kernel && ir::verify(*kernel, diagnostics), "the case '{0}' is not valid: {1}\n{2}",
               question.name, diagnostics.render(), question.text);
  return std::move(*kernel);
}

std::string runCase(const Case &question, const Executor &executor) {
  const ir::Kernel kernel = kernelOf(question);
  std::vector<std::vector<std::byte>> memory;
  std::vector<ir::Argument> arguments;
  std::deque<ir::PointerTable> tables;
  for (size_t i = 0; i < question.arguments.size(); ++i) {
    const ir::Type &type = kernel.type(kernel.body().arguments[i]);
    const CaseArgument &given = question.arguments[i];
    memory.push_back(packed(given.before));
    if (type.isTable())
      tables.push_back(testing::tableOfParts(memory.back(), given.before.shape[0]));
    arguments.push_back(type.isTable() ? tables.back().argument()
                                       : argumentFor(type, given, memory.back()));
  }
  Diagnostics diagnostics;
  if (!executor(kernel, question.grid, arguments, diagnostics))
    return question.name + ": " + diagnostics.render();
  for (size_t i = 0; i < question.arguments.size(); ++i) {
    const CaseArgument &argument = question.arguments[i];
    const Tile &wanted = argument.after ? *argument.after : argument.before;
    const std::string wrong = difference(kernel.parameterName(i), unpacked(memory[i], wanted),
                                         wanted, argument.after ? question.tolerance : 0);
    if (!wrong.empty()) return question.name + ": " + wrong;
  }
  return {};
}

std::vector<Case> allCases() {
  std::vector<Case> all;
  for (auto *table :
       {&integerCases, &floatCases, &conversionCases, &elementaryCases, &shapeCases, &axisCases,
        &rowCases, &productCases, &randomCases, &memoryCases, &controlCases, &variableCases})
    for (Case &question : table()) all.push_back(std::move(question));
  return all;
}

} // namespace imbrex::semantics
