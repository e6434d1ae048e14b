#include "backend/package/archive/assumed.h"

#include "llvm/ADT/STLExtras.h"

namespace imbrex::archive {
namespace {

using analysis::Assumptions;
using analysis::ParameterAssumptions;

bool hasPointers(const ir::Kernel &kernel) {
  return llvm::any_of(kernel.body().arguments, [&](ir::ValueId parameter) {
    return kernel.type(parameter).isPointerTile();
  });
}

/// What is left where whole numbers are any: how many heads share one, where a sequence begins.
Assumptions withAnyNumbers(const ir::Kernel &kernel, Assumptions assumptions) {
  for (std::size_t i = 0; i < assumptions.parameters.size(); ++i)
    if (!kernel.parameterType(i).hasMemory()) assumptions.parameters[i].isDivisible = false;
  return assumptions;
}

/// What is left where sizes are any, too.
Assumptions withAnySizes(const ir::Kernel &kernel, Assumptions assumptions) {
  assumptions = withAnyNumbers(kernel, std::move(assumptions));
  for (ParameterAssumptions &of : assumptions.parameters)
    of = {.isDivisible = of.isDivisible,
          .hasUnitStride = of.hasUnitStride,
          .hasSmallExtents = of.hasSmallExtents,
          .hasSmallSpan = of.hasSmallSpan};
  assumptions.equalExtents.clear();
  return assumptions;
}

/// Each as well of memory that overlaps.
void addOverlapping(std::vector<Assumptions> &strong) {
  for (std::size_t i = 0, count = strong.size(); i < count; ++i) {
    strong.push_back(strong[i]);
    strong.back().areDisjoint = false;
  }
}

/// Each once, the most first, and one that assumes nothing.
std::vector<Assumptions> withNothing(const ir::Kernel &kernel, std::vector<Assumptions> strong) {
  strong.emplace_back();
  strong.back().parameters.resize(kernel.parameterCount());
  std::vector<Assumptions> each;
  for (const Assumptions &one : strong)
    if (!llvm::is_contained(each, one)) each.push_back(one);
  llvm::stable_sort(
      each, [](const Assumptions &a, const Assumptions &b) { return a.count() > b.count(); });
  return each;
}

} // namespace

std::vector<Assumptions> assumedOnGpu(const ir::Kernel &kernel, const machine::Machine &machine) {
  Assumptions usual = analysis::usualAssumptions(kernel);
  if (!machine.asyncCopies.haveEngine) usual = analysis::withoutBoxes(std::move(usual));
  const Assumptions anySizes = withAnySizes(kernel, usual);
  std::vector<Assumptions> strong{usual, withAnyNumbers(kernel, usual)};
  // In place, most keep all the rest; bare pointers keep it with any sizes, too.
  if (hasPointers(kernel)) strong.push_back(anySizes);
  addOverlapping(strong);
  strong.push_back(anySizes);
  return withNothing(kernel, std::move(strong));
}

std::vector<Assumptions> assumedOnHost(const ir::Kernel &kernel) {
  Assumptions usual = analysis::usualAssumptions(kernel);
  for (ParameterAssumptions &of : usual.parameters) of = {.hasUnitStride = of.hasUnitStride};
  usual.equalExtents.clear();
  std::vector<Assumptions> strong{std::move(usual)};
  addOverlapping(strong);
  return withNothing(kernel, std::move(strong));
}

host::LaunchTraits traitsOf(const ir::Kernel &kernel, const Assumptions &assumptions) {
  host::LaunchTraits traits = host::usualTraits(kernel);
  for (std::size_t i = 0; i < kernel.parameterCount(); ++i) {
    const ir::Type &type = kernel.parameterType(i);
    if (!type.isView()) continue;
    traits.unitStrides[traits.ordinals[i]] = assumptions.of(i).hasUnitStride;
    traits.overlapping[traits.ordinals[i]] = !assumptions.areDisjoint && !type.isConst();
  }
  if (!assumptions.areDisjoint) llvm::fill(traits.relations, host::AliasRelation::Unknown);
  return traits;
}

} // namespace imbrex::archive
