#include "tools/imbrex/launch.h"

#include "backend/support/text.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace imbrex::tool {
namespace {

Failure<Diagnostic> unknownParameter(const ir::Kernel &kernel, std::string_view name) {
  std::string list;
  for (std::size_t i = 0; i < kernel.parameterCount(); ++i)
    list += (i == 0 ? "'" : ", '") + kernel.parameterName(i) + "'";
  return fail(Diag::UnknownParameter, {}, kernel.name(), name, list.empty() ? "none" : list);
}

std::optional<std::size_t> findParameter(const ir::Kernel &kernel, std::string_view name) {
  for (std::size_t i = 0; i < kernel.parameterCount(); ++i)
    if (kernel.parameterName(i) == name) return i;
  return std::nullopt;
}

const ir::Type &typeOf(const ir::Kernel &kernel, std::size_t parameter) {
  return kernel.type(kernel.body().arguments[parameter]);
}

/// What `x` names, or `x[3]` of a table; null where that is no array.
const BoundArgument *arrayNamed(std::string_view text, const ir::Type &type,
                                const BoundArgument &bound) {
  if (!type.isTable()) return text.ends_with(']') ? nullptr : &bound;
  std::size_t number = 0;
  llvm::StringRef index = llvm::StringRef(text).split('[').second;
  const bool isIndex = !index.consumeInteger(10, number) && index == "]";
  return isIndex && number < bound.pointees.size() ? &bound.pointees[number] : nullptr;
}

/// What an argument for a parameter could look like, for a hint.
std::string exampleFor(const ir::Type &type) {
  if (type.isTable()) return "@first.npy,@second.npy";
  if (type.isScalar()) return ir::isInteger(type.element()) ? "128" : "1.5";
  return "@file.npy";
}

} // namespace

Result<ir::Grid> parseGrid(std::string_view text) {
  ir::Grid grid;
  llvm::SmallVector<llvm::StringRef, 3> parts;
  llvm::StringRef(text).split(parts, ',');
  if (parts.size() > grid.extents.size()) return fail(Diag::BadGridText, {}, text);
  for (const auto &[part, extent] : llvm::zip(parts, grid.extents))
    if (!llvm::to_integer(part, extent, 10) || extent < 0) return fail(Diag::BadGridText, {}, text);
  std::int64_t blocks = std::int64_t{grid.extents[0]} * grid.extents[1];
  if (__builtin_mul_overflow(blocks, grid.extents[2], &blocks))
    return fail(Diag::TooManyBlocks, {});
  return grid;
}

Result<std::vector<BoundArgument>> bindArguments(const ir::Kernel &kernel,
                                                 llvm::ArrayRef<std::string> texts) {
  std::vector<std::optional<BoundArgument>> found(kernel.parameterCount());
  for (const std::string &text : texts) {
    const auto assignment = parseAssignment("--arg", text);
    if (!assignment) return assignment.failure();
    const auto parameter = findParameter(kernel, assignment->name);
    if (!parameter) return unknownParameter(kernel, assignment->name);
    if (found[*parameter]) return fail(Diag::RepeatedArgument, {}, assignment->name);
    auto bound = bindArgument(typeOf(kernel, *parameter), *assignment);
    if (!bound) return bound.failure();
    found[*parameter] = std::move(*bound);
  }
  std::vector<BoundArgument> arguments;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const ir::Type &type = typeOf(kernel, i);
    if (!found[i])
      return fail(Diag::MissingArgument, {}, kernel.parameterName(i), ir::toString(type),
                  kernel.name(), exampleFor(type));
    arguments.push_back(std::move(*found[i]));
  }
  return arguments;
}

Result<std::vector<Output>> parseOutputs(const ir::Kernel &kernel,
                                         llvm::ArrayRef<BoundArgument> arguments,
                                         llvm::ArrayRef<std::string> texts) {
  std::vector<Output> outputs;
  for (const std::string &text : texts) {
    const auto assignment = parseAssignment("--out", text);
    if (!assignment) return assignment.failure();
    if (!assignment->value.starts_with('@') || assignment->value.size() == 1)
      return fail(Diag::BadOutput, {}, text);
    const std::string name = assignment->name.substr(0, assignment->name.find('['));
    const auto parameter = findParameter(kernel, name);
    if (!parameter) return unknownParameter(kernel, assignment->name);
    const ir::Type &type = typeOf(kernel, *parameter);
    if (type.isScalar()) return fail(Diag::ScalarOutput, {}, assignment->name);
    const BoundArgument &bound = arguments[*parameter];
    const BoundArgument *array = arrayNamed(assignment->name, type, bound);
    if (array == nullptr && !type.isTable()) return unknownParameter(kernel, assignment->name);
    if (array == nullptr)
      return fail(Diag::TableOutput, {}, assignment->name, name,
                  counted(std::ssize(bound.pointees), "array"));
    outputs.push_back({.array = array, .path = assignment->value.substr(1)});
  }
  return outputs;
}

} // namespace imbrex::tool
