#include "runtime/aot/bind.h"

#include "backend/launching/array_span.h"
#include "runtime/aot/error.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace imbrex::aot {

static_assert(kMostAxes == IMBREX_MOST_AXES);
static_assert(int{kHost} == int{IMBREX_HOST} && int{kCuda} == int{IMBREX_CUDA} &&
              int{kHip} == int{IMBREX_HIP});

namespace {

using launching::GivenView;
using launching::ParameterAssumptions;

/// A parameter on its way to its argument.
struct Pair {
  const KernelRow &kernel;
  const ParameterRow &parameter;
  Bound &bound;
};

int checkAddress(const Pair &pair) {
  const auto unit = std::uint64_t{storageBytes(pair.parameter)};
  if (pair.bound.scalar == 0 && pair.bound.bytes != 0)
    return wrongArgument(pair.kernel, pair.parameter, "is a null pointer");
  if (pair.bound.scalar % unit != 0)
    return wrongArgument(pair.kernel, pair.parameter,
                         "has an address that is no multiple of its element's %u bytes",
                         static_cast<unsigned>(unit));
  return IMBREX_OK;
}

int bindScalar(const Pair &pair, const void *given) {
  pair.bound.scalar = 0; // the low bytes: the processors that there is code for have them first
  std::memcpy(&pair.bound.scalar, given, storageBytes(pair.parameter));
  // C has other bytes that are true.
  if (pair.parameter.form == Form::Truth) pair.bound.scalar = pair.bound.scalar != 0 ? 1 : 0;
  pair.bound.holds.isDivisible =
      pair.parameter.isInteger && pair.bound.scalar % ParameterAssumptions::kDivisor == 0;
  return IMBREX_OK;
}

int bindMemory(const Pair &pair, const imbrex_memory &given) {
  pair.bound.scalar = reinterpret_cast<std::uintptr_t>(given.data);
  pair.bound.bytes = given.bytes;
  if (given.bytes < -1)
    return wrongArgument(pair.kernel, pair.parameter, "has %lld bytes",
                         static_cast<long long>(given.bytes));
  if (const int status = checkAddress(pair); status != IMBREX_OK) return status;
  pair.bound.holds.isDivisible = pair.bound.scalar % ParameterAssumptions::kDivisor == 0;
  return IMBREX_OK;
}

GivenView givenView(const ParameterRow &parameter, const imbrex_array &view) {
  return {.address = reinterpret_cast<std::uintptr_t>(view.data),
          .extents = std::span(view.extents, parameter.rank),
          .strides = std::span(view.strides, parameter.rank),
          .storageBits = parameter.storageBits};
}

int bindView(const Pair &pair, const imbrex_array &given) {
  const GivenView view = givenView(pair.parameter, given);
  if (const int status =
          checkSpan(pair.kernel, pair.parameter, view.extents, view.strides, pair.bound.bytes);
      status != IMBREX_OK)
    return status;
  pair.bound.view = &given;
  pair.bound.scalar = view.address;
  if (const int status = checkAddress(pair); status != IMBREX_OK) return status;
  pair.bound.holds = launching::assumptionsOf(view);
  return IMBREX_OK;
}

int bindTable(const Pair &pair, const imbrex_table &given) {
  pair.bound.scalar = reinterpret_cast<std::uintptr_t>(given.pointers);
  pair.bound.bytes = -1; // of what its pointers lead to
  pair.bound.count = given.count;
  if (given.count < 0)
    return wrongArgument(pair.kernel, pair.parameter, "has %lld pointers",
                         static_cast<long long>(given.count));
  if (pair.bound.scalar == 0) // also of none: a null one stands there
    return wrongArgument(pair.kernel, pair.parameter, "is a null pointer");
  if (pair.bound.scalar % sizeof(void *) != 0)
    return wrongArgument(pair.kernel, pair.parameter,
                         "has an address that is no multiple of a pointer's 8 bytes");
  pair.bound.holds.isDivisible = (given.promises & IMBREX_ALIGNED) != 0;
  pair.bound.isApart = (given.promises & IMBREX_APART) != 0;
  return IMBREX_OK;
}

int bindOne(const Pair &pair, const void *given) {
  if (given == nullptr) return wrongArgument(pair.kernel, pair.parameter, "is missing");
  switch (pair.parameter.form) {
  case Form::Scalar:
  case Form::Truth: return bindScalar(pair, given);
  case Form::Pointer: return bindMemory(pair, *static_cast<const imbrex_memory *>(given));
  case Form::View: return bindView(pair, *static_cast<const imbrex_array *>(given));
  case Form::Table: return bindTable(pair, *static_cast<const imbrex_table *>(given));
  }
  return IMBREX_OK;
}

bool areApart(const Bound &a, const Bound &b) {
  if (a.isApart || b.isApart) return true;
  if (a.bytes < 0 || b.bytes < 0) return false;
  return a.scalar + static_cast<std::uint64_t>(a.bytes) <= b.scalar ||
         b.scalar + static_cast<std::uint64_t>(b.bytes) <= a.scalar;
}

/// analysis::Assumptions::areDisjoint
bool areDisjoint(const KernelRow &kernel, const BoundArguments &bound) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(kernel.parameterCount); ++i) {
    const ParameterRow &parameter = kernel.parameters[i];
    if (!hasMemory(parameter)) continue;
    const Bound &one = bound[i];
    if (parameter.form == Form::View && !parameter.isConst &&
        !launching::areElementsApart(givenView(parameter, *one.view)))
      return false;
    for (std::size_t before = 0; before < i; ++before)
      if (const ParameterRow &other = kernel.parameters[before];
          hasMemory(other) && !(parameter.isConst && other.isConst) &&
          !areApart(one, bound[before]))
        return false;
  }
  return true;
}

bool holds(const KernelRow &kernel, const CodeRow &code, const BoundArguments &bound) {
  if (code.areDisjoint && !bound.areDisjoint) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(kernel.parameterCount); ++i)
    if (!bound[i].holds.cover(assumptionsOf(code.assumed[i]))) return false;
  return std::all_of(code.equals, code.equals + code.equalCount, [&](const EqualExtentsRow &pair) {
    return bound[pair.parameter].view->extents[pair.axis] ==
           bound[pair.first].view->extents[pair.firstAxis];
  });
}

} // namespace

ParameterAssumptions assumptionsOf(const Assumed &assumed) {
  return {.isDivisible = assumed.isDivisible,
          .hasUnitStride = assumed.hasUnitStride,
          .hasDivisibleRows = assumed.hasDivisibleRows,
          .hasSmallExtents = assumed.hasSmallExtents,
          .hasSmallSpan = assumed.hasSmallSpan,
          .hasBoxes = assumed.hasBoxes,
          .sharedRowBytes = assumed.sharedRowBytes};
}

int wrongArgument(const KernelRow &kernel, const ParameterRow &parameter, const char *what, ...) {
  std::array<char, 256> text{};
  std::va_list values;
  va_start(values, what);
  std::vsnprintf(text.data(), text.size(), what, values);
  va_end(values);
  return fail(IMBREX_BAD_ARGUMENT, "the argument '%s' of '%s', %s, %s", parameter.name, kernel.name,
              parameter.type, text.data());
}

int checkSpan(const KernelRow &kernel, const ParameterRow &parameter,
              std::span<const std::int64_t> extents, std::span<const std::int64_t> strides,
              std::int64_t &bytes) {
  const launching::ArraySpan span = launching::spanOf(extents, strides);
  const auto wrongAlong = [&](const char *what, std::int64_t value) {
    return wrongArgument(kernel, parameter, "has the %s %lld along axis %zu", what,
                         static_cast<long long>(value), span.axis);
  };
  switch (span.problem) {
  case launching::SpanProblem::NegativeExtent: return wrongAlong("extent", extents[span.axis]);
  case launching::SpanProblem::NegativeStride: return wrongAlong("stride", strides[span.axis]);
  case launching::SpanProblem::TooManyElements:
    return wrongArgument(kernel, parameter, "has too many elements");
  case launching::SpanProblem::None: break;
  }
  bytes = span.bytes(parameter.storageBits);
  return IMBREX_OK;
}

int bindArguments(const KernelRow &kernel, const void *const *arguments, BoundArguments &bound) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(kernel.parameterCount); ++i) {
    const Pair pair{kernel, kernel.parameters[i], bound.add(i)};
    if (const int status = bindOne(pair, arguments[i]); status != IMBREX_OK) return status;
  }
  bound.areDisjoint = areDisjoint(kernel, bound);
  return IMBREX_OK;
}

std::size_t writeWords(const KernelRow &kernel, const BoundArguments &bound, Words &words) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(kernel.parameterCount); ++i) {
    words[count++] = bound[i].scalar;
    if (kernel.parameters[i].form == Form::Table)
      words[count++] = static_cast<std::uint64_t>(bound[i].count);
    const imbrex_array *view = bound[i].view;
    if (view == nullptr) continue;
    const std::size_t rank = kernel.parameters[i].rank;
    for (std::size_t axis = 0; axis < rank; ++axis)
      words[count++] = static_cast<std::uint64_t>(view->extents[axis]);
    for (std::size_t axis = 0; axis < rank; ++axis)
      words[count++] = static_cast<std::uint64_t>(view->strides[axis]);
  }
  return count;
}

const CodeRow &strongest(const KernelRow &kernel, std::span<const CodeRow> codes,
                         const BoundArguments &bound) {
  const auto found =
      std::ranges::find_if(codes, [&](const CodeRow &code) { return holds(kernel, code, bound); });
  return found == codes.end() ? codes.back() : *found;
}

} // namespace imbrex::aot
