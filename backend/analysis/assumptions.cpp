#include "backend/analysis/assumptions.h"

#include "backend/ir/requirement.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <iterator>

namespace imbrex::analysis {
namespace {

using namespace ir;

constexpr std::int64_t kDivisor = ParameterAssumptions::kDivisor;

bool isDivisible(const Type &type, const Argument &argument) {
  if (type.hasMemory())
    return llvm::all_of(memoryOf(type, argument), [](const Argument &piece) {
      return reinterpret_cast<std::uintptr_t>(piece.data) % kDivisor == 0;
    });
  return isInteger(type.element()) && argument.scalar % kDivisor == 0;
}

launching::GivenView given(const Type &type, const Argument &view) {
  const auto rank = static_cast<size_t>(type.rank());
  return {.address = reinterpret_cast<std::uintptr_t>(view.data),
          .extents = std::span(view.extents).first(rank),
          .strides = std::span(view.strides).first(rank),
          .storageBits = storageBits(type.element())};
}

std::int64_t extentOf(llvm::ArrayRef<Argument> arguments, ExtentOf which) {
  return arguments[static_cast<size_t>(which.parameter)].extents[static_cast<size_t>(which.axis)];
}

bool areDisjoint(const Kernel &kernel, llvm::ArrayRef<Argument> arguments) {
  struct Before {
    llvm::ArrayRef<Argument> memory;
    bool isConst;
  };
  llvm::SmallVector<Before, 32> before;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Type &type = kernel.parameterType(i);
    if (!type.hasMemory()) continue;
    if (type.isView() && !type.isConst() && !launching::areElementsApart(given(type, arguments[i])))
      return false;
    const llvm::ArrayRef<Argument> memory = memoryOf(type, arguments[i]);
    for (const Before &other : before)
      if (!(type.isConst() && other.isConst) && !areApart(memory, other.memory)) return false;
    before.push_back({memory, type.isConst()});
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
  if (others.areDisjoint && !areDisjoint) return false;
  for (size_t i = 0; i < others.parameters.size(); ++i)
    if (!of(i).cover(others.of(i))) return false;
  return std::ranges::all_of(others.equalExtents, [&](const EqualExtents &pair) {
    return std::ranges::find(equalExtents, pair) != equalExtents.end();
  });
}

std::int64_t Assumptions::count() const {
  std::int64_t said = std::int64_t{areDisjoint} + std::ssize(equalExtents);
  for (const ParameterAssumptions &of : parameters) said += of.count();
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
    const Type &type = kernel.parameterType(i);
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
    const Type &type = kernel.parameterType(i);
    ParameterAssumptions &parameter = all.parameters[i];
    if (type.isView())
      parameter = launching::assumptionsOf(given(type, arguments[i]));
    else
      parameter.isDivisible = isDivisible(type, arguments[i]);
  }
  return all;
}

} // namespace imbrex::analysis
