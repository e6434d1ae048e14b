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

/// What is left where sizes are any.
Assumptions withAnySizes(const ir::Kernel &kernel, Assumptions assumptions) {
  for (std::size_t i = 0; i < assumptions.parameters.size(); ++i) {
    ParameterAssumptions &of = assumptions.parameters[i];
    of = {.isDivisible = of.isDivisible && kernel.parameterType(i).hasMemory(),
          .hasUnitStride = of.hasUnitStride,
          .hasSmallExtents = of.hasSmallExtents,
          .hasSmallSpan = of.hasSmallSpan};
  }
  assumptions.equalExtents.clear();
  return assumptions;
}

/// Each once, in this order.
std::vector<Assumptions> withWeaker(const ir::Kernel &kernel, std::vector<Assumptions> strong) {
  // In place, most keep all the rest; bare pointers keep it with any sizes, too.
  const std::size_t overlapping = hasPointers(kernel) ? strong.size() : 1;
  for (std::size_t i = 0; i < overlapping; ++i) {
    strong.push_back(strong[i]);
    strong.back().areDisjoint = false;
  }
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
  return withWeaker(kernel, {usual, withAnySizes(kernel, usual)});
}

std::vector<Assumptions> assumedOnHost(const ir::Kernel &kernel) {
  Assumptions usual = analysis::usualAssumptions(kernel);
  for (ParameterAssumptions &of : usual.parameters) of = {.hasUnitStride = of.hasUnitStride};
  usual.equalExtents.clear();
  return withWeaker(kernel, {usual});
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
