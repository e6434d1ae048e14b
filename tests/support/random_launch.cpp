#include "backend/ir/constant_text.h"
#include "tests/support/parts_table.h"
#include "tests/support/random_kernel.h"

#include <array>
#include <optional>
#include <random>

namespace imbrex::testing {

using namespace ir;

namespace {

std::int64_t bytesOf(const ArgumentSpec &spec) {
  return (spec.elements * storageBits(spec.type.element()) + 7) / 8;
}

std::uint64_t readElement(const std::vector<std::byte> &memory, ElementKind kind, std::int64_t i) {
  const std::int64_t width = storageBits(kind);
  std::uint64_t bits = 0;
  for (std::int64_t bit = i * width; bit < (i + 1) * width; bit += width < 8 ? width : 8)
    bits |= static_cast<std::uint64_t>(memory[static_cast<std::size_t>(bit / 8)]) >>
            (bit % 8) << (bit - i * width);
  return width == 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
}

void writeElement(std::vector<std::byte> &memory, ElementKind kind, std::int64_t i,
                  std::uint64_t bits) {
  const std::int64_t width = storageBits(kind);
  if (width < 8) {
    std::byte &pair = memory[static_cast<std::size_t>(i * width / 8)];
    const auto shift = static_cast<int>(i * width % 8);
    pair = (pair & ~(std::byte{0xf} << shift)) |
           (std::byte{static_cast<unsigned char>(bits)} << shift);
    return;
  }
  for (std::int64_t byte = 0; byte < width / 8; ++byte)
    memory[static_cast<std::size_t>(i * width / 8 + byte)] =
        static_cast<std::byte>(bits >> (8 * byte) & 0xff);
}

constexpr std::size_t kSmallNumbers = 16;
/// As an element's bits; what an element has no code for, such as a negative scale, is left out.
using SmallNumbers = std::array<std::optional<std::uint64_t>, kSmallNumbers>;

std::uint64_t maskOf(ElementKind kind) { return ~std::uint64_t{0} >> (64 - storageBits(kind)); }

/// Numbers that arithmetic keeps apart.
SmallNumbers smallNumbers(ElementKind kind) {
  SmallNumbers numbers;
  for (std::size_t i = 0; i < kSmallNumbers; ++i) {
    const std::int64_t number = static_cast<std::int64_t>(i) - 5;
    if (isInteger(kind))
      numbers[i] = static_cast<std::uint64_t>(number) & maskOf(kind);
    else
      numbers[i] =
          constantFromText(Type::tile(kind), std::to_string(static_cast<double>(number) / 2));
  }
  return numbers;
}

/// A small number mostly; of a bool any byte that is one.
std::uint64_t randomElement(std::mt19937 &rng, ElementKind kind, const SmallNumbers &small) {
  const std::uint64_t any = (std::uint64_t{rng()} << 32) | rng();
  const std::uint64_t mask = maskOf(kind);
  const std::size_t which = rng() % kSmallNumbers;
  if (rng() % 5 == 0) return any & mask;
  if (kind == ElementKind::Bool) return any & 1;
  return small[which].value_or(any & mask);
}

bool isNan(const Type &type, std::uint64_t bits) {
  if (!isFloat(type.element()) && !isNarrowFloat(type.element())) return false;
  const auto width = static_cast<unsigned>(info(type.element()).bits);
  return llvm::APFloat(floatFormat(type.element()), llvm::APInt(width, bits)).isNaN();
}

} // namespace

RandomLaunch::RandomLaunch(const RandomKernel &kernel) {
  for (const ArgumentSpec &spec : kernel.arguments) {
    const bool hasMemory = !spec.type.isTile() && spec.sharesWith < 0;
    std::mt19937 rng(spec.seed);
    auto &memory = memory_.emplace_back(static_cast<std::size_t>(hasMemory ? bytesOf(spec) : 0));
    const ElementKind kind = spec.type.element();
    const SmallNumbers small = smallNumbers(kind);
    for (std::int64_t i = 0; hasMemory && i < spec.elements; ++i)
      writeElement(memory, kind, i, randomElement(rng, kind, small));
    ir::Argument argument;
    argument.scalar = spec.scalar;
    auto &named = spec.sharesWith < 0 ? memory : memory_[static_cast<std::size_t>(spec.sharesWith)];
    argument.data = named.data();
    argument.bytes = std::ssize(named);
    argument.extents = spec.extents;
    argument.strides = spec.strides;
    if (spec.type.isTable())
      argument = tables_.emplace_back(tableOfParts(named, spec.parts)).argument();
    arguments_.push_back(argument);
  }
}

std::string difference(const RandomKernel &kernel, const RandomLaunch &a, const RandomLaunch &b) {
  for (std::size_t p = 0; p < kernel.arguments.size(); ++p) {
    const ArgumentSpec &spec = kernel.arguments[p];
    if (a.memory(p) == b.memory(p)) continue;
    const Type element = Type::tile(spec.type.element());
    for (std::int64_t i = 0; i < spec.elements; ++i) {
      const std::uint64_t left = readElement(a.memory(p), element.element(), i);
      const std::uint64_t right = readElement(b.memory(p), element.element(), i);
      if (left == right || (isNan(element, left) && isNan(element, right))) continue;
      return "%" + kernel.kernel.parameterName(p) + "[" + std::to_string(i) +
             "]: " + constantToText(element, left) + " and " + constantToText(element, right);
    }
  }
  return "";
}

} // namespace imbrex::testing
