#include "tools/imbrex/launch.h"

#include "backend/support/text.h"

#include <algorithm>
#include <charconv>
#include <limits>

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
  const std::string_view index = text.substr(std::min(text.find('['), text.size() - 1) + 1);
  const auto [end, error] = std::from_chars(index.data(), index.data() + index.size(), number);
  const bool isIndex = error == std::errc{} && std::string_view(end, index.end()) == "]";
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
  std::string_view rest = text;
  bool good = true, ended = false;
  for (std::size_t axis = 0; axis < 3 && good && !ended; ++axis) {
    std::int32_t extent = -1;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), extent);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    good = error == std::errc{} && extent >= 0;
    grid.extents[axis] = extent;
    ended = !rest.starts_with(',');
    if (!ended) rest.remove_prefix(1);
  }
  if (!good || !ended || !rest.empty()) return fail(Diag::BadGridText, {}, text);
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
