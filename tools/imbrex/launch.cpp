#include "tools/imbrex/launch.h"

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

/// What an argument for a parameter could look like, for a hint.
std::string exampleFor(const ir::Type &type) {
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
                                         llvm::ArrayRef<std::string> texts) {
  std::vector<Output> outputs;
  for (const std::string &text : texts) {
    const auto assignment = parseAssignment("--out", text);
    if (!assignment) return assignment.failure();
    if (!assignment->value.starts_with('@') || assignment->value.size() == 1)
      return fail(Diag::BadOutput, {}, text);
    const auto parameter = findParameter(kernel, assignment->name);
    if (!parameter) return unknownParameter(kernel, assignment->name);
    if (typeOf(kernel, *parameter).isScalar())
      return fail(Diag::ScalarOutput, {}, assignment->name);
    outputs.push_back({.parameter = *parameter, .path = assignment->value.substr(1)});
  }
  return outputs;
}

} // namespace imbrex::tool
