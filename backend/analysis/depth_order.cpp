#include "backend/analysis/depth_order.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace imbrex::analysis {

using layout::Bits;
using layout::Dim;
using layout::LinearLayout;

std::int32_t freeDepthBits(std::int64_t depth) {
  return std::min(layout::bitsFor(depth), llvm::countr_zero(static_cast<std::uint64_t>(depth)));
}

DepthOrder sideBySide(const LinearLayout &places, Dim axis, std::int32_t besides) {
  llvm::SmallVector<std::int64_t, 8> ofRegisters, ofLanes;
  const auto collect = [&](Dim dim, llvm::SmallVectorImpl<std::int64_t> &into) {
    for (const Bits column : places.columns(dim))
      if (const Bits depth = places.outputPart(column, axis); depth != 0)
        into.push_back(llvm::Log2_64(depth));
  };
  collect(Dim::Register, ofRegisters);
  collect(Dim::Lane, ofLanes);
  llvm::sort(ofRegisters);
  DepthOrder order(static_cast<std::size_t>(places.outputBits(axis)));
  std::int64_t next = 0;
  const auto give = [&](llvm::ArrayRef<std::int64_t> bits) {
    for (const std::int64_t bit : bits) order[static_cast<std::size_t>(bit)] = next++;
  };
  const llvm::ArrayRef<std::int64_t> registers = ofRegisters;
  const auto first = std::min(static_cast<std::size_t>(besides), registers.size());
  give(registers.take_front(first));
  give(ofLanes);
  give(registers.drop_front(first));
  return order;
}

std::optional<DepthOrder> orderAsHeld(const LinearLayout &places, const LinearLayout &held,
                                      Dim axis) {
  constexpr std::int64_t kOpen = -1;
  DepthOrder order(static_cast<std::size_t>(places.outputBits(axis)), kOpen), last;
  for (const auto [wanted, has] :
       llvm::zip_equal(places.columns(Dim::Lane), held.columns(Dim::Lane))) {
    const Bits place = places.outputPart(wanted, axis), depth = held.outputPart(has, axis);
    if (place != 0 && depth == 0) return std::nullopt;
    if (place != 0)
      order[static_cast<std::size_t>(llvm::Log2_64(place))] = llvm::Log2_64(depth);
    else if (depth != 0)
      last.push_back(llvm::Log2_64(depth));
  }
  DepthOrder others;
  for (std::int64_t bit = 0; bit < std::ssize(order); ++bit)
    if (!llvm::is_contained(order, bit) && !llvm::is_contained(last, bit)) others.push_back(bit);
  others.append(last);
  const auto *next = others.begin();
  for (std::int64_t &bit : order)
    if (bit == kOpen) bit = *next++;
  return order;
}

LinearLayout reordered(const LinearLayout &places, Dim axis, llvm::ArrayRef<std::int64_t> order) {
  const std::int32_t shift = places.outputShift(axis), bits = places.outputBits(axis);
  const auto placeOf = [&](std::int32_t bit) {
    const auto place = static_cast<std::size_t>(bit);
    return place < order.size() ? static_cast<std::int32_t>(order[place]) : bit;
  };
  llvm::SmallVector<Bits, 16> columns;
  for (const Bits column : places.columns()) {
    const Bits part = places.outputPart(column, axis);
    Bits moved = column ^ part << shift;
    for (std::int32_t bit = 0; bit < bits; ++bit)
      if ((part >> bit & 1) != 0) moved |= Bits{1} << (shift + placeOf(bit));
    columns.push_back(moved);
  }
  return LinearLayout(layout::Sides(places.inputs()), layout::Sides(places.outputs()), columns);
}

} // namespace imbrex::analysis
