#include "backend/analysis/slabs.h"

#include "backend/ir/products.h"
#include "backend/layout/bank_conflicts.h"
#include "backend/layout/tile_layout.h"

namespace imbrex::analysis {

std::int64_t bytesOfDepth(const ir::Kernel &kernel, const ir::Op &dot, std::size_t operand) {
  const ir::Type &type = kernel.type(dot.operand(operand));
  if (type.isShared()) return 0;
  std::int64_t bytes = ir::storageBits(type.element()) / 8;
  for (std::int32_t axis = 0; axis < type.rank(); ++axis)
    if (axis != ir::depthAxis(kernel, dot, operand)) bytes <<= layout::bitsFor(type.shape()[axis]);
  return bytes;
}

std::int64_t depthOfSlab(const ir::Kernel &kernel, const ir::Op &dot, std::int64_t bytes) {
  // Of two k, which packed elements are of.
  std::int64_t each = 0;
  for (const std::size_t i : {0, 1})
    each += bytesOfDepth(kernel, dot, i) * (2 / ir::depthOfElement(kernel, dot, i));
  const std::int64_t room = bytes / 2; // so that the slabs of two rounds fit side by side
  std::int64_t depth = std::int64_t{1} << layout::bitsFor(ir::depthOf(kernel, dot));
  while (depth > 1 && depth * each / 2 > room) depth /= 2;
  return depth;
}

std::int64_t depthAhead(const ir::Kernel &kernel, const ir::Op &dot, std::size_t operand) {
  // Tried on a product of f16[128x32] and f16[32x128]
  // (bench/results/2026-11-23-shared-tiles.jsonl): of more, cores have room for fewer blocks; where
  // a role is given registers there is room.
  constexpr std::int64_t kBytes = 64, kBytesOfRole = 128;
  const ir::Op *roles = ir::rolesOf(kernel);
  const bool hasMore = roles && roles->attrs<ir::RolesAttrs>().takes > 0;
  const ir::Type &type = kernel.type(dot.operand(operand));
  const std::int64_t bytes = ir::storageBits(type.element()) / 8;
  const std::int64_t extent = type.shape()[ir::depthAxis(kernel, dot, operand)];
  const std::int64_t ofOneK =
      bytes << operandReads(kernel, dot, operand, {0, 0}).inputBits(layout::Dim::Register);
  std::int64_t depth = 1;
  while (2 * depth * ofOneK <= (hasMore ? kBytesOfRole : kBytes) && extent % (2 * depth) == 0 &&
         2 * depth * bytes <= layout::kMaxAccessBytes)
    depth *= 2;
  return depth;
}

layout::LinearLayout operandReads(const ir::Kernel &kernel, const ir::Op &dot, std::size_t operand,
                                  DepthBits depthBits) {
  using layout::Dim;
  const layout::LinearLayout &sums = kernel.layout(kernel.layoutOf(dot.result()));
  const ir::Shape &shape = kernel.type(dot.operand(operand)).shape();
  const std::int32_t depth = ir::depthAxis(kernel, dot, operand);
  layout::Sides sides = layout::tileSides(shape.extents());
  for (layout::Side &side : sides)
    if (side.dim == layout::axisDim(depth)) side.bits = depthBits.inAll;
  const layout::LinearLayout like({}, sides, {});
  // Rows of a and columns of b are along the same axis as those of the sums.
  const auto wanted = [&](layout::Bits ofSum) {
    layout::Bits packed = 0;
    for (std::int32_t axis = 0; axis < shape.rank(); ++axis)
      if (axis != depth)
        packed |= sums.outputPart(ofSum, layout::axisDim(axis))
                  << like.outputShift(layout::axisDim(axis));
    return packed;
  };
  layout::Vectors columns;
  for (std::int32_t bit = 0; bit < depthBits.ofRegisters; ++bit)
    columns.push_back(layout::Bits{1} << (like.outputShift(layout::axisDim(depth)) + bit));
  for (const layout::Bits column : sums.columns(Dim::Register))
    if (const layout::Bits own = wanted(column); own != 0) columns.push_back(own);
  layout::Sides inputs{{Dim::Register, static_cast<std::int32_t>(columns.size())}};
  for (const Dim dim : {Dim::Lane, Dim::Warp}) {
    inputs.push_back({dim, sums.inputBits(dim)});
    for (const layout::Bits column : sums.columns(dim)) columns.push_back(wanted(column));
  }
  return {inputs, sides, columns};
}

} // namespace imbrex::analysis
