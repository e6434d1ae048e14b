#include "backend/analysis/assumptions.h"

#include "backend/ir/requirement.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace imbrex::analysis {
namespace {

using namespace ir;

constexpr std::int64_t kDivisor = ParameterAssumptions::kDivisor;

const Type &parameterType(const Kernel &kernel, size_t i) {
  return kernel.type(kernel.body().arguments[i]);
}

bool isDivisible(const Type &type, const Argument &argument) {
  if (type.hasMemory())
    return llvm::all_of(memoryOf(type, argument), [](const Argument &piece) {
      return reinterpret_cast<std::uintptr_t>(piece.data) % kDivisor == 0;
    });
  return isInteger(type.element()) && argument.scalar % kDivisor == 0;
}

bool rowsDivide(const Type &type, const Argument &argument, std::int64_t bytes) {
  const auto last = static_cast<size_t>(type.rank() - 1);
  // Powers of two divide what wraps around as what does not.
  const auto divides = [&](std::int64_t elements) {
    const auto bits = static_cast<std::uint64_t>(elements) *
                      static_cast<std::uint64_t>(storageBits(type.element()));
    return bits % (8 * static_cast<std::uint64_t>(bytes)) == 0;
  };
  return divides(argument.extents[last]) &&
         std::all_of(argument.strides.begin(), argument.strides.begin() + last, divides);
}

std::int64_t sharedRowBytes(const Type &type, const Argument &argument) {
  std::int64_t bytes = sharesByte(type.element()) ? kDivisor : 0;
  while (bytes > 0 && !rowsDivide(type, argument, bytes)) bytes /= 2;
  return bytes;
}

/// The engine's rules; machine/targets.def says where they come from.
bool canLoadBoxes(const Type &type, const Argument &argument) {
  constexpr std::int64_t kMostBytes = (std::int64_t{1} << 40) - 1;
  const std::int32_t bits = storageBits(type.element());
  const auto last = static_cast<size_t>(type.rank() - 1);
  if (bits < 8 || argument.strides[last] != 1 || !isDivisible(type, argument)) return false;
  for (size_t axis = 0; axis <= last; ++axis)
    if (argument.extents[axis] < 1 || argument.extents[axis] > ParameterAssumptions::kMostBoxExtent)
      return false;
  for (size_t axis = last; axis-- > 0;) {
    const std::int64_t stride = argument.strides[axis];
    if (stride < 1 || stride > kMostBytes * 8 / bits || stride % argument.strides[axis + 1] != 0 ||
        stride * bits % (8 * kDivisor) != 0)
      return false;
  }
  return true;
}

bool isSmall(std::int64_t extent) { return extent <= std::numeric_limits<std::int32_t>::max(); }

bool hasSmallSpan(const Type &type, const Argument &argument) {
  constexpr std::int64_t kMost = ParameterAssumptions::kSmallSpan;
  std::int64_t last = 0; // element
  for (size_t axis = 0; axis < static_cast<size_t>(type.rank()); ++axis) {
    const std::int64_t stride = argument.strides[axis], extent = argument.extents[axis];
    if (extent < 2) continue;
    if (stride < 0 || stride > kMost || extent > kMost) return false;
    last += (extent - 1) * stride;
    if (last > kMost) return false;
  }
  return (last + 1) * storageBits(type.element()) <= kMost * 8;
}

std::int64_t extentOf(llvm::ArrayRef<Argument> arguments, ExtentOf which) {
  return arguments[static_cast<size_t>(which.parameter)].extents[static_cast<size_t>(which.axis)];
}

/// Whether each element of a view has its own memory: a step along an axis leads beyond all that
/// the axes with smaller strides reach.
bool areElementsApart(const Type &type, const Argument &argument) {
  llvm::SmallVector<std::pair<std::int64_t, std::int64_t>, Shape::kMaxRank> axes;
  for (size_t axis = 0; axis < static_cast<size_t>(type.rank()); ++axis)
    if (argument.extents[axis] != 1)
      axes.emplace_back(argument.strides[axis], argument.extents[axis]);
  llvm::sort(axes);
  std::int64_t reach = 0;
  for (const auto &[stride, extent] : axes) {
    if (stride <= reach) return false;
    reach += (extent - 1) * stride;
  }
  return true;
}

bool areDisjoint(const Kernel &kernel, llvm::ArrayRef<Argument> arguments) {
  llvm::SmallVector<llvm::ArrayRef<Argument>, 32> before;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Type &type = parameterType(kernel, i);
    if (!type.hasMemory()) continue;
    if (type.isView() && !type.isConst() && !areElementsApart(type, arguments[i])) return false;
    const llvm::ArrayRef<Argument> memory = memoryOf(type, arguments[i]);
    for (const llvm::ArrayRef<Argument> other : before)
      if (!areApart(memory, other)) return false;
    before.push_back(memory);
  }
  return true;
}

} // namespace

ParameterAssumptions Assumptions::of(const Kernel &kernel, ValueId value) const {
  const Op *bytes = kernel.definition(value);
  if (!bytes || bytes->kind != OpKind::ViewBytes) return of(kernel.parameterNumber(value));
  ParameterAssumptions assumed = of(kernel, bytes->operand(0));
  assumed.hasDivisibleRows = assumed.sharedRowBytes == ParameterAssumptions::kDivisor;
  assumed.hasBoxes = false; // which the engine is told of by the parameter
  return assumed;
}

bool Assumptions::cover(const Assumptions &others) const {
  const auto covers = [](bool ours, bool theirs) { return ours || !theirs; };
  if (!covers(areDisjoint, others.areDisjoint)) return false;
  for (size_t i = 0; i < others.parameters.size(); ++i) {
    const ParameterAssumptions ours = of(i), theirs = others.of(i);
    if (!covers(ours.isDivisible, theirs.isDivisible) ||
        !covers(ours.hasUnitStride, theirs.hasUnitStride) ||
        !covers(ours.hasDivisibleRows, theirs.hasDivisibleRows) ||
        !covers(ours.hasSmallExtents, theirs.hasSmallExtents) ||
        !covers(ours.hasSmallSpan, theirs.hasSmallSpan) ||
        !covers(ours.hasBoxes, theirs.hasBoxes) || ours.sharedRowBytes < theirs.sharedRowBytes)
      return false;
  }
  return std::ranges::all_of(others.equalExtents, [&](const EqualExtents &pair) {
    return std::ranges::find(equalExtents, pair) != equalExtents.end();
  });
}

std::int64_t Assumptions::count() const {
  std::int64_t said = std::int64_t{areDisjoint} + std::ssize(equalExtents);
  for (const ParameterAssumptions &of : parameters)
    said += of.isDivisible + of.hasUnitStride + of.hasDivisibleRows + of.hasSmallExtents +
            of.hasSmallSpan + of.hasBoxes + of.sharedRowBytes;
  return said;
}

Assumptions withoutBoxes(Assumptions assumptions) {
  for (ParameterAssumptions &parameter : assumptions.parameters) parameter.hasBoxes = false;
  return assumptions;
}

std::vector<Requirement> launchRequirements(const Kernel &kernel) {
  std::vector<Requirement> requirements;
  for (const Op *op : ir::requirementsOf(kernel))
    requirements.push_back({.condition = writtenOut(kernel, op->operand(0)),
                            .text = op->attrs<TextAttrs>().text,
                            .line = toText(op->where)});
  return requirements;
}

Assumptions usualAssumptions(const Kernel &kernel) {
  Assumptions usual{
      .parameters = {}, .areDisjoint = true, .equalExtents = likelyEqualExtents(kernel)};
  for (size_t i = 0; i < kernel.parameterCount(); ++i) {
    const Type &type = parameterType(kernel, i);
    const bool isView = type.isView();
    usual.parameters.push_back(
        {.isDivisible = type.hasMemory() || isInteger(type.element()),
         .hasUnitStride = isView,
         .hasDivisibleRows = isView,
         .hasSmallExtents = isView,
         .hasSmallSpan = isView,
         .hasBoxes = isView && !sharesByte(type.element()),
         .sharedRowBytes = isView && sharesByte(type.element()) ? kDivisor : 0});
  }
  return usual;
}

Assumptions assumptionsOf(const Kernel &kernel, llvm::ArrayRef<Argument> arguments,
                          const Assumptions &usual) {
  Assumptions all{
      .parameters = {}, .areDisjoint = areDisjoint(kernel, arguments), .equalExtents = {}};
  std::ranges::copy_if(usual.equalExtents, std::back_inserter(all.equalExtents),
                       [&](const EqualExtents &pair) {
                         return extentOf(arguments, pair.extent) == extentOf(arguments, pair.first);
                       });
  all.parameters.resize(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Type &type = parameterType(kernel, i);
    ParameterAssumptions &parameter = all.parameters[i];
    parameter.isDivisible = isDivisible(type, arguments[i]);
    if (!type.isView()) continue;
    parameter.hasUnitStride = arguments[i].strides[static_cast<size_t>(type.rank() - 1)] == 1;
    parameter.hasDivisibleRows = rowsDivide(type, arguments[i], kDivisor);
    parameter.sharedRowBytes = sharedRowBytes(type, arguments[i]);
    parameter.hasSmallExtents = std::ranges::all_of(arguments[i].extents, isSmall);
    parameter.hasSmallSpan = hasSmallSpan(type, arguments[i]);
    parameter.hasBoxes = canLoadBoxes(type, arguments[i]);
  }
  return all;
}

} // namespace imbrex::analysis
