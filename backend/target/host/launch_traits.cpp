#include "backend/target/host/launch_traits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace imbrex::host {
namespace {

AliasRelation relationOf(const ir::Type &typeA, const ir::Argument &a, const ir::Type &typeB,
                         const ir::Argument &b) {
  const bool isSame = a.data == b.data && typeA == typeB && !typeA.isTable() &&
                      (!typeA.isView() || a.strides == b.strides);
  if (isSame) return AliasRelation::Same;
  const bool apart = areApart(memoryOf(typeA, a), memoryOf(typeB, b));
  return apart ? AliasRelation::Disjoint : AliasRelation::Unknown;
}

/// Whether two indices of a view may be the same element: where an axis does not step over all that
/// the axes with smaller steps reach.
bool overlapsItself(const ir::Type &type, const ir::Argument &argument) {
  llvm::SmallVector<std::pair<std::uint64_t, std::uint64_t>, 5> axes; // step, steps
  for (size_t axis = 0; axis < static_cast<size_t>(type.rank()); ++axis) {
    if (argument.extents[axis] == 0) return false;
    const std::int64_t stride = argument.strides[axis];
    const auto step = static_cast<std::uint64_t>(stride);
    if (argument.extents[axis] > 1)
      axes.emplace_back(stride < 0 ? 0 - step : step,
                        static_cast<std::uint64_t>(argument.extents[axis] - 1));
  }
  llvm::sort(axes);
  std::uint64_t reach = 0;
  for (const auto &[step, steps] : axes) {
    if (step <= reach) return true;
    reach = llvm::SaturatingMultiplyAdd(step, steps, reach);
  }
  return false;
}

} // namespace

LaunchTraits usualTraits(const ir::Kernel &kernel) {
  LaunchTraits traits;
  size_t count = 0;
  for (size_t i = 0; i < kernel.parameterCount(); ++i) {
    traits.ordinals.push_back(static_cast<std::uint32_t>(count));
    if (kernel.parameterType(i).hasMemory()) ++count;
  }
  traits.unitStrides.assign(count, true);
  traits.overlapping.assign(count, false);
  traits.relations.assign(count * count, AliasRelation::Disjoint);
  return traits;
}

LaunchTraits traitsOf(const ir::Kernel &kernel, llvm::ArrayRef<ir::Argument> arguments) {
  LaunchTraits traits = usualTraits(kernel);
  llvm::SmallVector<size_t, 8> arrays;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (kernel.parameterType(i).hasMemory()) arrays.push_back(i);
  for (size_t a = 0; a < arrays.size(); ++a) {
    const ir::Type &type = kernel.parameterType(arrays[a]);
    const ir::Argument &argument = arguments[arrays[a]];
    if (type.isView()) {
      traits.unitStrides[a] = argument.strides[static_cast<size_t>(type.rank() - 1)] == 1;
      traits.overlapping[a] = !type.isConst() && overlapsItself(type, argument);
    }
    for (size_t b = 0; b < a; ++b) {
      const AliasRelation relation =
          relationOf(type, argument, kernel.parameterType(arrays[b]), arguments[arrays[b]]);
      traits.relations[a * arrays.size() + b] = relation;
      traits.relations[b * arrays.size() + a] = relation;
    }
  }
  return traits;
}

} // namespace imbrex::host
