#include "tools/imbrex/generate.h"

#include "backend/interpret/scalar.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "tools/imbrex/arguments.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <random>

namespace imbrex::tool {
namespace {

using ir::ElementKind;

// In the order of GeneratorKind.
constexpr std::array<std::string_view, 5> kNames{"zeros", "ones", "empty", "arange", "random"};

/// `128x64`; nothing for a text of no axes.
std::optional<std::vector<std::int64_t>> parseShape(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef, 5> parts;
  text.split(parts, 'x');
  std::vector<std::int64_t> shape(parts.size());
  for (const auto &[part, extent] : llvm::zip_equal(parts, shape))
    if (!llvm::to_integer(part, extent, 10) || extent < 0) return std::nullopt;
  return shape;
}

Failure<Diagnostic> unknownElement(const Assignment &assignment, std::string_view text) {
  std::vector<std::string_view> names;
  for (const ElementKind kind : ir::allElementKinds()) names.push_back(ir::info(kind).name);
  const std::string_view meant = nearest(text, names);
  return fail(Diag::UnknownElement, {}, assignment.name, text, meant.empty() ? "f32" : meant);
}

/// A source of values that is the same with every standard library.
class Numbers {
public:
  Numbers(GeneratorKind kind, ElementKind element) : kind_(kind), element_(element) {}

  double next() {
    switch (kind_) {
    case GeneratorKind::Zeros:
    case GeneratorKind::Empty: return 0;
    case GeneratorKind::Ones: return 1;
    case GeneratorKind::Arange: return static_cast<double>(count_++);
    case GeneratorKind::Random: return random();
    }
    IMBREX_UNREACHABLE("generator");
  }

private:
  double random() {
    switch (ir::info(element_).family) {
    case ir::ElementFamily::Bool: return below(2);
    case ir::ElementFamily::Signed: return below(201) - 100;
    case ir::ElementFamily::Unsigned: return below(101);
    case ir::ElementFamily::Float:
    case ir::ElementFamily::NarrowFloat: return normal();
    }
    IMBREX_UNREACHABLE("element family");
  }
  double below(unsigned limit) { return static_cast<double>(random_() % limit); }
  double uniform() { return (static_cast<double>(random_()) + 0.5) / 4294967296.0; }
  /// Box and Muller's transform.
  double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

  GeneratorKind kind_;
  ElementKind element_;
  std::int64_t count_ = 0;
  std::mt19937 random_{20};
};

} // namespace

Result<Generator> parseGenerator(const Assignment &assignment) {
  const std::string_view text = assignment.value;
  const std::size_t first = text.find(':'), last = text.rfind(':');
  const std::string_view name = text.substr(0, first);
  const auto row = std::ranges::find(kNames, name);
  if (first == std::string_view::npos || row == kNames.end()) {
    const std::string_view meant = nearest(name, kNames);
    return fail(Diag::UnknownGenerator, {}, assignment.name, text, meant.empty() ? "zeros" : meant);
  }
  Generator generator{
      .kind = static_cast<GeneratorKind>(row - kNames.begin()), .element = {}, .shape = {}};
  if (first != last) {
    const std::string_view element = text.substr(first + 1, last - first - 1);
    generator.element = ir::elementNamed(element);
    if (!generator.element) return unknownElement(assignment, element);
  }
  auto shape = parseShape(text.substr(last + 1));
  if (!shape) return fail(Diag::ImpossibleShape, {}, assignment.name, text);
  generator.shape = std::move(*shape);
  return generator;
}

void generate(GeneratorKind kind, ElementKind element, std::span<std::byte> memory) {
  if (kind == GeneratorKind::Empty) return;
  const bool isPacked = element == ElementKind::F4E2M1;
  const std::size_t bytes = isPacked ? 1 : static_cast<std::size_t>(ir::storageBits(element)) / 8;
  Numbers numbers(kind, element);
  const auto nextBits = [&] {
    const std::uint64_t number = interpret::fromDouble(numbers.next(), ElementKind::F64);
    return interpret::convert(number, ElementKind::F64, element);
  };
  // Converting a number costs much more than writing it.
  const bool areAllOne = kind == GeneratorKind::Zeros || kind == GeneratorKind::Ones;
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i + bytes <= memory.size(); i += bytes) {
    if (i == 0 || !areAllOne) {
      bits = nextBits();
      if (isPacked) bits |= nextBits() << 4;
    }
    std::memcpy(&memory[i], &bits, bytes);
  }
}

} // namespace imbrex::tool
