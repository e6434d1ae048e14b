#include "backend/target/host/launch_traits.h"

namespace imbrex::host {
namespace {

const ir::Type &parameterType(const ir::Kernel &kernel, size_t i) {
  return kernel.type(kernel.body().arguments[i]);
}

bool hasMemory(const ir::Type &type) { return type.isView() || type.isPointerTile(); }

Relation relationOf(const ir::Type &typeA, const ir::Argument &a, const ir::Type &typeB,
                    const ir::Argument &b) {
  if (!hasMemory(typeA) || !hasMemory(typeB)) return Relation::Disjoint;
  const bool isSame =
      a.data == b.data && typeA == typeB && (!typeA.isView() || a.strides == b.strides);
  if (isSame) return Relation::Same;
  if (a.bytes == ir::Argument::kUnknownSize || b.bytes == ir::Argument::kUnknownSize)
    return Relation::Unknown;
  const bool apart = a.data + a.bytes <= b.data || b.data + b.bytes <= a.data;
  return apart ? Relation::Disjoint : Relation::Unknown;
}

} // namespace

LaunchTraits usualTraits(const ir::Kernel &kernel) {
  const size_t count = kernel.parameterCount();
  return {.parameters = count,
          .unitStride = std::vector<bool>(count, true),
          .relations = std::vector<Relation>(count * count, Relation::Disjoint)};
}

LaunchTraits traitsOf(const ir::Kernel &kernel, llvm::ArrayRef<ir::Argument> arguments) {
  LaunchTraits traits = usualTraits(kernel);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ir::Type &type = parameterType(kernel, i);
    if (type.isView())
      traits.unitStride[i] = arguments[i].strides[static_cast<size_t>(type.rank() - 1)] == 1;
    for (size_t j = 0; j < arguments.size(); ++j)
      if (i != j)
        traits.relations[i * arguments.size() + j] =
            relationOf(type, arguments[i], parameterType(kernel, j), arguments[j]);
  }
  return traits;
}

} // namespace imbrex::host
