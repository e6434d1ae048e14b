#include "backend/analysis/ring_copies.h"

#include "backend/layout/box_layout.h"
#include "backend/layout/slot_layout.h"
#include "backend/layout/tile_layout.h"

#include <algorithm>
#include <optional>

namespace imbrex::analysis {
namespace {

using namespace ir;

/// The widest copies that all who fill a ring can make.
std::int64_t copyWidth(const Kernel &kernel, ValueId ring) {
  std::int64_t width = layout::kMaxAccessBytes;
  walk(kernel.body(), [&](const Op &op) {
    const bool isBox = op.kind == OpKind::RingCopyBox;
    if ((!isBox && op.kind != OpKind::RingCopy) || op.operand(0) != ring) return;
    width = std::min<std::int64_t>(width, isBox ? op.attrs<RingCopyBoxAttrs>().width
                                                : op.attrs<RingCopyAttrs>().width);
  });
  const std::int32_t bits = storageBits(kernel.type(ring).element());
  return std::min<std::int64_t>(width, layout::kMaxAccessBytes * 8 / bits);
}

/// The copies of a thread, where it brings what a layout says.
layout::RegisterVectors vectorsOf(const Kernel &kernel, ValueId ring,
                                  const layout::LinearLayout &layout) {
  const std::int32_t rank = kernel.type(ring).rank();
  const layout::Dim axis = layout::axisDim(layout::axisOfNeighbours(layout, rank));
  return layout::contiguousRegisters(layout, axis, copyWidth(kernel, ring));
}

/// Whether copies stay as they were planned when the threads bring other elements.
bool areSame(const layout::RegisterVectors &a, const layout::RegisterVectors &b) {
  return a.width == b.width && a.registers == b.registers;
}

} // namespace

Ahead filledBy(const Kernel &kernel, ValueId ring) {
  return kernel.definition(ring)->attrs<RingAttrs>().by;
}

bool isRingCopy(const Op &op) {
  return op.kind == OpKind::RingCopy || op.kind == OpKind::RingCopyBox;
}

RingCopies copiesOf(const Kernel &kernel, ValueId ring, const machine::Machine &machine) {
  const Type &type = kernel.type(ring);
  const layout::LinearLayout &layout = kernel.layout(kernel.layoutOf(ring));
  RingCopies copies{.vectors = vectorsOf(kernel, ring, layout)};
  copies.bytes = copies.vectors.width * (storageBits(type.element()) / 8);
  const machine::AsyncCopies &async = machine.asyncCopies;
  copies.areStores = filledBy(kernel, ring) == Ahead::Stores;
  if (copies.areStores) return copies;
  copies.areAsynchronous = (async.sizes & static_cast<std::uint32_t>(copies.bytes)) != 0;
  if (async.areInLaneOrder && layout::copyBits(layout, layout::Dim::Lane) != 0)
    copies.areAsynchronous = false; // two lanes would bring one element
  copies.areInLaneOrder = copies.areAsynchronous && async.areInLaneOrder;
  return copies;
}

namespace {

/// Of the groups that a body closes; what stands in front of a body within it is not counted, which
/// makes a group smaller.
void findLeastGroup(const Kernel &kernel, const Block &body, const machine::Machine &machine,
                    std::optional<std::int64_t> &least) {
  std::int64_t count = 0;
  for (const auto &op : body.ops) {
    for (const Block &region : op->regions) findLeastGroup(kernel, region, machine, least);
    if (!op->regions.empty()) count = 0;
    if (isRingCopy(*op)) {
      const RingCopies copies = copiesOf(kernel, op->operand(0), machine);
      if (copies.areInLaneOrder) count += copies.countOfThread();
    }
    if (op->kind != OpKind::RingCommit) continue;
    least = std::min(least.value_or(count), count);
    count = 0;
  }
}

} // namespace

std::int64_t leastCopiesOfGroup(const Kernel &kernel, const machine::Machine &machine) {
  std::optional<std::int64_t> least;
  findLeastGroup(kernel, kernel.body(), machine, least);
  return least.value_or(0);
}

namespace {

/// Pointers are held by the threads that copy from them; of a box each thread can say any element.
bool isFilledByBoxes(const Kernel &kernel, ValueId ring) {
  return !firstOp(kernel.body(), [&](const Op &op) {
    return op.kind == OpKind::RingCopy && op.operand(0) == ring;
  });
}

} // namespace

SlotPlan planSlots(const Kernel &kernel, ValueId ring, const layout::LinearLayout &read,
                   const machine::Machine &machine) {
  const Type &type = kernel.type(ring);
  const std::int32_t elementBytes = storageBits(type.element()) / 8;
  const layout::LinearLayout &write = kernel.layout(kernel.layoutOf(ring));
  if (filledBy(kernel, ring) == Ahead::Boxes)
    return {write, layout::planBoxes(type.shape().extents(), elementBytes)->shared};
  const layout::SharedMemoryModel memory = sharedMemoryOf(machine);
  const RingCopies copies = copiesOf(kernel, ring, machine);
  if (!copies.areInLaneOrder)
    return {write, layout::planSlot(write, copies.vectors, read, elementBytes, memory)};
  if (isFilledByBoxes(kernel, ring))
    if (const auto swizzled =
            layout::planSwizzledSlot(write, copies.vectors, read, elementBytes, memory);
        swizzled && areSame(copies.vectors, vectorsOf(kernel, ring, swizzled->write)))
      return {swizzled->write, swizzled->shared};
  return {write, layout::planSlotInLaneOrder(write, copies.vectors)};
}

std::optional<layout::LinearLayout> slotLayoutOf(const Kernel &kernel, ValueId ring) {
  const Op *slot = firstOp(kernel.body(), [&](const Op &op) {
    return op.kind == OpKind::RingSlot && op.operand(0) == ring;
  });
  if (!slot) return std::nullopt;
  return kernel.layout(kernel.layoutOf(slot->result()));
}

} // namespace imbrex::analysis
