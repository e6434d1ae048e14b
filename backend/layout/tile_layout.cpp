#include "backend/layout/tile_layout.h"

#include "backend/layout/algebra.h"
#include "backend/layout/layout_builder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <map>

namespace imbrex::layout {

std::int32_t bitsFor(std::int64_t extent) {
  return static_cast<std::int32_t>(llvm::bit_width(static_cast<std::uint64_t>(extent - 1)));
}

Sides tileSides(llvm::ArrayRef<std::int64_t> extents) {
  Sides sides;
  for (std::size_t axis = 0; axis < extents.size(); ++axis)
    sides.push_back({axisDim(static_cast<std::int32_t>(axis)), bitsFor(extents[axis])});
  return sides;
}

LinearLayout blockedLayout(llvm::ArrayRef<std::int64_t> extents, Threads threads,
                           std::int64_t perThread, llvm::ArrayRef<std::int32_t> order) {
  LayoutBuilder deal(extents, threads);
  if (!order.empty()) deal.give(Dim::Register, order.front(), bitsFor(perThread));
  for (const Dim dim : {Dim::Lane, Dim::Warp})
    for (const std::int32_t axis : order) deal.give(dim, axis, LayoutBuilder::kAll);
  return deal.finish(order);
}

bool isTileLayout(const LinearLayout &layout) {
  Bits reached = 0;
  for (const Bits column : layout.columns()) {
    if (column != 0 && (!llvm::has_single_bit(column) || (reached & column) != 0)) return false;
    reached |= column;
  }
  return isFillingLayout(layout);
}

LinearLayout withNeighboursInRegisters(const LinearLayout &layout, std::int32_t axis) {
  const std::int32_t first = layout.outputShift(axisDim(axis)),
                     count = layout.outputBits(axisDim(axis));
  const Bits ofRegisters = unionOf(layout.columns(Dim::Register));
  std::map<Bits, Bits> places;
  for (const bool inRegisters : {true, false})
    for (std::int32_t bit = first; bit < first + count; ++bit)
      if (((ofRegisters >> bit & 1) != 0) == inRegisters)
        places.emplace(Bits{1} << bit,
                       Bits{1} << (first + static_cast<std::int32_t>(places.size())));
  llvm::SmallVector<Bits, 16> columns;
  for (const Bits column : layout.columns()) {
    const auto moved = places.find(column);
    columns.push_back(moved == places.end() ? column : moved->second);
  }
  return {Sides(layout.inputs()), Sides(layout.outputs()), columns};
}

LinearLayout withRegistersAlong(const LinearLayout &layout, std::int32_t axis, std::int32_t bits) {
  const auto isAlong = [&](Bits column) { return layout.outputPart(column, axisDim(axis)) != 0; };
  const auto registers = static_cast<std::size_t>(layout.inputBits(Dim::Register)),
             lanes = static_cast<std::size_t>(layout.inputBits(Dim::Lane));
  llvm::SmallVector<Bits, 16> columns(layout.columns());
  const auto own = llvm::MutableArrayRef(columns).take_front(registers);
  const auto ofLanes = llvm::MutableArrayRef(columns).slice(registers, lanes);
  for (auto have = llvm::count_if(own, isAlong); have < bits; ++have) {
    // The widest step of the other axes, and the narrowest of this one.
    const auto gives = std::find_if(own.rbegin(), own.rend(),
                                    [&](Bits column) { return column != 0 && !isAlong(column); });
    auto *const takes = llvm::find_if(ofLanes, isAlong);
    if (gives == own.rend() || takes == ofLanes.end()) break;
    std::swap(*gives, *takes);
  }
  return {Sides(layout.inputs()), Sides(layout.outputs()), columns};
}

bool isFillingLayout(const LinearLayout &layout) {
  if (!layout.isOnThreads()) return false;
  const auto registers = layout.columns(Dim::Register);
  const Bits ofThreads = unionOf(layout.columns(Dim::Lane)) | unionOf(layout.columns(Dim::Warp));
  const auto copies = llvm::count(layout.columns(), Bits{0});
  return !llvm::is_contained(registers, 0) && (unionOf(registers) & ofThreads) == 0 &&
         layout.inputBits() - copies == layout.outputBits() && isSurjective(layout);
}

LinearLayout withoutAxis(const LinearLayout &layout, std::int32_t axis) {
  const LinearLayout unit = withUnitAxis(layout, axis);
  Sides outputs;
  for (const Side &side : unit.outputs())
    if (side.dim != axisDim(axis))
      outputs.push_back({axisDim(static_cast<std::int32_t>(outputs.size())), side.bits});
  return LinearLayout(Sides(unit.inputs()), outputs, unit.columns());
}

LinearLayout withUnitAxis(const LinearLayout &layout, std::int32_t axis) {
  const std::int32_t shift = layout.outputShift(axisDim(axis));
  const std::int32_t bits = layout.outputBits(axisDim(axis));
  const Bits below = (Bits{1} << shift) - 1;
  Sides inputs(layout.inputs()), outputs(layout.outputs());
  outputs[static_cast<std::size_t>(axis)].bits = 0;
  llvm::SmallVector<Bits, 16> columns;
  for (Side &side : inputs) {
    const std::size_t before = columns.size();
    for (const Bits column : layout.columns(side.dim)) {
      const Bits kept = (column & below) | column >> (shift + bits) << shift;
      const bool isCopy = kept == 0 && side.dim == Dim::Register;
      if (!isCopy) columns.push_back(kept);
    }
    side.bits = static_cast<std::int32_t>(columns.size() - before);
  }
  return LinearLayout(inputs, outputs, columns);
}

Bits copyBits(const LinearLayout &layout, Dim input) {
  Bits copies = 0;
  const auto columns = layout.columns(input);
  for (std::size_t bit = 0; bit < columns.size(); ++bit)
    if (columns[bit] == 0) copies |= Bits{1} << bit;
  return copies;
}

bool hasCopies(const LinearLayout &layout) {
  return copyBits(layout, Dim::Lane) != 0 || copyBits(layout, Dim::Warp) != 0;
}

} // namespace imbrex::layout
