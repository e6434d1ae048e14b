#include "tools/imbrex/arguments.h"

#include "backend/interpret/scalar.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/layout.h"
#include "tools/imbrex/generate.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace imbrex::tool {
namespace {

using ir::ElementKind;
using ir::Type;

Failure<Diagnostic> notA(const Assignment &assignment, ElementKind wanted, std::string_view hint) {
  return fail(Diag::BadScalarText, {}, assignment.name, ir::info(wanted).name, assignment.value,
              hint);
}

/// Whether a whole number lies in an integer type of up to 64 bits.
template <class Whole>
Result<std::uint64_t> parseInteger(const Assignment &assignment, ElementKind kind) {
  const std::string &text = assignment.value;
  Whole number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::invalid_argument || end != text.data() + text.size())
    return notA(assignment, kind, "write a whole number, such as 128");
  const auto bits = static_cast<std::uint64_t>(number);
  if (error != std::errc{} || interpret::extended(interpret::wrapped(bits, kind), kind) !=
                                  static_cast<std::int64_t>(number))
    return notA(assignment, kind,
                "it has " + std::to_string(ir::info(kind).bits) + " bits and holds no such number");
  return interpret::wrapped(bits, kind);
}

Result<std::uint64_t> parseFloat(const Assignment &assignment, ElementKind kind) {
  const std::string &text = assignment.value;
  char *end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size())
    return notA(assignment, kind, "write a number, such as 3.5, 1e-3, inf or nan");
  const std::uint64_t bits = interpret::fromDouble(number, ElementKind::F64);
  const std::uint64_t converted = interpret::convert(bits, ElementKind::F64, kind);
  // "inf" and "nan" are not written in digits; 1e999 is, and is infinite only to strtod.
  const bool isFinite = text.find_first_of("0123456789") != std::string::npos;
  if (isFinite && ir::isFloat(kind) && std::isinf(interpret::toDouble(converted, kind)))
    return notA(assignment, kind, "its largest number is smaller");
  return converted;
}

Result<std::uint64_t> parseScalar(const Assignment &assignment, ElementKind kind) {
  switch (ir::info(kind).family) {
  case ir::ElementFamily::Bool:
    if (assignment.value == "true" || assignment.value == "1") return std::uint64_t{1};
    if (assignment.value == "false" || assignment.value == "0") return std::uint64_t{0};
    return notA(assignment, kind, "write true or false");
  case ir::ElementFamily::Signed: return parseInteger<std::int64_t>(assignment, kind);
  case ir::ElementFamily::Unsigned: return parseInteger<std::uint64_t>(assignment, kind);
  case ir::ElementFamily::Float:
  case ir::ElementFamily::NarrowFloat: return parseFloat(assignment, kind);
  }
  IMBREX_UNREACHABLE("element family");
}

/// NumPy's name for the elements of a parameter.
NpyElement npyElementOf(ElementKind kind) {
  const std::int64_t bytes = std::max(ir::storageBits(kind), 8) / 8;
  switch (ir::info(kind).family) {
  case ir::ElementFamily::Bool: return {'b', 1};
  case ir::ElementFamily::Signed: return {'i', bytes};
  case ir::ElementFamily::Unsigned: return {'u', bytes};
  case ir::ElementFamily::Float: return {kind == ElementKind::BF16 ? 'u' : 'f', bytes};
  case ir::ElementFamily::NarrowFloat: return {'u', bytes};
  }
  IMBREX_UNREACHABLE("element family");
}

/// Whether a file's elements are a parameter's. NumPy has no name for bf16 and the narrow floats:
/// they come as unsigned integers, or as bytes, of their size.
bool isStoredAs(ElementKind kind, const NpyElement &element) {
  const NpyElement wanted = npyElementOf(kind);
  if (element == wanted) return true;
  const bool nameless = kind == ElementKind::BF16 || ir::isNarrowFloat(kind);
  return nameless && element.bytes == wanted.bytes &&
         (element.kind == 'V' || (element.kind == 'f' && element.bytes == 1));
}

/// Extents and strides, in elements, of an array whose shape is a file's.
void describe(BoundArgument &bound, ElementKind kind) {
  const auto rank = bound.shape.size();
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t axis = bound.fortranOrder ? i : rank - 1 - i;
    const bool packed = i == 0 && kind == ElementKind::F4E2M1;
    bound.argument.extents[axis] = bound.shape[axis] * (packed ? 2 : 1);
    bound.argument.strides[axis] = stride;
    stride *= bound.argument.extents[axis];
  }
}

Result<BoundArgument> bindArray(const Type &type, const Assignment &assignment,
                                BoundArgument bound) {
  const auto rank = static_cast<std::int32_t>(bound.shape.size());
  if (type.isView() && rank != type.rank())
    return fail(Diag::WrongArrayRank, {}, assignment.name, type.rank(), rank);
  const auto count = countElements(bound.shape, bound.element.bytes);
  if (!count) return fail(Diag::ImpossibleShape, {}, assignment.name, assignment.value);
  const std::int64_t bytes = *count * bound.element.bytes;
  auto memory = AlignedMemory::allocate(bytes);
  if (!memory) return fail(Diag::OutOfMemory, {}, runtime::Subject{assignment.name}, bytes);
  bound.memory = std::move(*memory);
  bound.argument.data = bound.memory.data();
  bound.argument.bytes = bytes;
  if (type.isView()) describe(bound, type.element());
  return bound;
}

Result<BoundArgument> bindFile(const Type &type, const Assignment &assignment) {
  auto array = readNpy(assignment.value.substr(1));
  if (!array) return array.failure();
  if (!isStoredAs(type.element(), array->element))
    return fail(Diag::WrongArrayElement, {}, assignment.name, ir::info(type.element()).name,
                toText(npyElementOf(type.element())), toText(array->element));
  if (type.isScalar()) {
    if (array->data.size() != static_cast<std::size_t>(array->element.bytes))
      return fail(Diag::WrongArrayRank, {}, assignment.name, 0, array->shape.size());
    BoundArgument bound;
    std::memcpy(&bound.argument.scalar, array->data.data(), array->data.size());
    return bound;
  }
  const bool isPacked = type.element() == ElementKind::F4E2M1;
  if (isPacked && array->fortranOrder) return fail(Diag::PackedFortranOrder, {}, assignment.name);
  BoundArgument bound;
  bound.element = array->element;
  bound.fortranOrder = array->fortranOrder;
  bound.shape = array->shape;
  auto made = bindArray(type, assignment, std::move(bound));
  if (made && !array->data.empty())
    std::memcpy(made->memory.data(), array->data.data(), array->data.size());
  return made;
}

Result<BoundArgument> bindGenerated(const Type &type, const Assignment &assignment,
                                    const Generator &generator) {
  if (generator.element && *generator.element != type.element())
    return fail(Diag::WrongGeneratedElement, {}, assignment.name, ir::info(type.element()).name,
                ir::info(*generator.element).name);
  BoundArgument bound;
  bound.element = npyElementOf(type.element());
  bound.shape = generator.shape;
  if (type.element() == ElementKind::F4E2M1 && !bound.shape.empty()) {
    if (bound.shape.back() % 2 != 0)
      return fail(Diag::OddPackedExtent, {}, assignment.name, bound.shape.back());
    bound.shape.back() /= 2;
  }
  auto made = bindArray(type, assignment, std::move(bound));
  if (!made) return made;
  const auto bytes = static_cast<std::size_t>(made->argument.bytes);
  generate(generator.kind, type.element(), {made->argument.data, bytes});
  if (generator.kind == GeneratorKind::Empty) {
    made->unwritten.assign(bytes, 1);
    made->argument.unwritten = made->unwritten.data();
  }
  return made;
}

Result<BoundArgument> bindTable(const Type &type, const Assignment &assignment) {
  const Type pointer = Type::pointerTile(type.element(), {}, type.isConst());
  BoundArgument bound;
  std::vector<ir::Argument> pointees;
  llvm::SmallVector<llvm::StringRef, 8> parts;
  if (!assignment.value.empty()) llvm::StringRef(assignment.value).split(parts, ',');
  for (const auto &[number, part] : llvm::enumerate(parts)) {
    auto made = bindArgument(pointer, {.name = assignment.name + "[" + std::to_string(number) + "]",
                                       .value = part.str()});
    if (!made) return made.failure();
    pointees.push_back(made->argument);
    bound.pointees.push_back(std::move(*made));
  }
  bound.table = ir::PointerTable(std::move(pointees));
  bound.argument = bound.table.argument();
  return bound;
}

} // namespace

Result<Assignment> parseAssignment(std::string_view option, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return fail(Diag::BadAssignment, {}, option, text);
  return Assignment{.name = std::string(text.substr(0, equals)),
                    .value = std::string(text.substr(equals + 1))};
}

void AlignedMemory::FreeMemory::operator()(std::byte *memory) const { std::free(memory); }

std::optional<AlignedMemory> AlignedMemory::allocate(std::int64_t bytes) {
  // Linux would promise more than there is, and end the process when it is used.
  const std::int64_t pages = sysconf(_SC_PHYS_PAGES), pageBytes = sysconf(_SC_PAGESIZE);
  constexpr std::int64_t kLine = 64;
  AlignedMemory memory;
  if (bytes / pageBytes < pages)
    memory.data_.reset(static_cast<std::byte *>(
        std::aligned_alloc(kLine, static_cast<std::size_t>((bytes + kLine) / kLine * kLine))));
  if (!memory.data_) return std::nullopt;
  return memory;
}

Result<BoundArgument> bindArgument(const Type &type, const Assignment &assignment) {
  if (type.isTable()) return bindTable(type, assignment);
  if (assignment.value.starts_with('@')) return bindFile(type, assignment);
  if (!type.isScalar()) {
    auto generator = parseGenerator(assignment);
    if (!generator) return generator.failure();
    return bindGenerated(type, assignment, *generator);
  }
  auto bits = parseScalar(assignment, type.element());
  if (!bits) return bits.failure();
  BoundArgument bound;
  bound.argument.scalar = *bits;
  return bound;
}

NpyArray arrayOf(const BoundArgument &bound) {
  const std::byte *data = bound.memory.data();
  return {.element = bound.element,
          .fortranOrder = bound.fortranOrder,
          .shape = bound.shape,
          .data = {data, data + bound.argument.bytes}};
}

} // namespace imbrex::tool
