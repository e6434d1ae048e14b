#include "backend/analysis/slabs.h"

#include "backend/layout/tile_layout.h"

namespace imbrex::analysis {

std::int32_t depthAxis(const ir::Kernel &kernel, const ir::Op &dot, std::size_t operand) {
  return kernel.type(dot.operand(operand)).rank() - (operand == 0 ? 1 : 2);
}

std::int64_t bytesOfDepth(const ir::Kernel &kernel, const ir::Op &dot, std::size_t operand) {
  const ir::Type &type = kernel.type(dot.operand(operand));
  std::int64_t bytes = ir::storageBits(type.element()) / 8;
  for (std::int32_t axis = 0; axis < type.rank(); ++axis)
    if (axis != depthAxis(kernel, dot, operand)) bytes <<= layout::bitsFor(type.shape()[axis]);
  return bytes;
}

std::int64_t depthOfSlab(const ir::Kernel &kernel, const ir::Op &dot, std::int64_t bytes) {
  const std::int64_t each = bytesOfDepth(kernel, dot, 0) + bytesOfDepth(kernel, dot, 1);
  const std::int64_t room = bytes / 2; // so that the slabs of two rounds fit side by side
  const ir::Shape &shape = kernel.type(dot.operand(0)).shape();
  std::int64_t depth = std::int64_t{1} << layout::bitsFor(shape[depthAxis(kernel, dot, 0)]);
  while (depth > 1 && depth * each > room) depth /= 2;
  return depth;
}

} // namespace imbrex::analysis
