#include "backend/analysis/full_registers.h"

#include "backend/analysis/operand_sources.h"
#include "backend/analysis/ring_copies.h"
#include "backend/ir/products.h"
#include "backend/layout/tile_layout.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

namespace imbrex::analysis {
namespace {

using namespace ir;

/// Whether a value is computed from a product's sums, behind the head of a loop.
bool isOfProduct(const Kernel &kernel, ValueId value) {
  llvm::SmallVector<ValueId> open{value};
  std::set<ValueId> seen;
  while (!open.empty()) {
    const ValueId next = open.pop_back_val();
    const Op *made = kernel.definition(next);
    if (made == nullptr || !seen.insert(next).second) continue;
    if (isProduct(*made)) return true;
    llvm::append_range(open, made->operands);
  }
  return false;
}

/// Whether this is so of an operand of a product on a unit.
bool anyOperand(const Op &loop, llvm::function_ref<bool(ValueId)> isSo) {
  bool any = false;
  walk(loop.regions[0], [&](const Op &op) {
    any |= isProduct(op) && isOnUnit(op) && (isSo(op.operand(0)) || isSo(op.operand(1)));
  });
  return any;
}

/// Whether loads pass through the few registers that there are.
bool loadsThroughFew(const machine::Machine &machine) {
  constexpr std::int32_t kFew = 256; // CDNA has twice as many
  return machine.asyncCopies.sizes == 0 && machine.maxRegistersPerThread <= kFew;
}

/// Whether neighbours in a thread's registers are none in the slot.
bool isTransposed(const Kernel &kernel, const Op &slot) {
  const ValueId ring = slot.operand(0);
  if (filledBy(kernel, ring) != Ahead::Stores) return false;
  const auto held = kernel.layout(kernel.layoutOf(ring)).columns(layout::Dim::Register);
  const auto stored = kernel.layout(kernel.layoutOf(slot.result())).columns(layout::Dim::Offset);
  return !held.empty() && !stored.empty() && held.front() != stored.front();
}

/// The tiles that are wanted later, from the end of a kernel to its beginning.
class LiveTiles {
public:
  explicit LiveTiles(const Kernel &kernel) : kernel_(kernel) { goThrough(kernel.body()); }

  std::int64_t most() const { return most_; }

private:
  void goThrough(const Block &block) {
    for (const auto &op : llvm::reverse(block.ops)) {
      for (const ValueId result : op->results) add(result); // if only for the op
      for (const ValueId operand : op->operands) add(operand);
      most_ = std::max(most_, registers_);
      for (const Block &region : op->regions) {
        if (op->kind == OpKind::For || op->kind == OpKind::While) addFromOutside(region);
        goThrough(region);
        for (const ValueId argument : region.arguments) remove(argument);
      }
      for (const ValueId result : op->results) remove(result);
    }
  }

  /// What a loop's body has from outside is wanted by each trip.
  void addFromOutside(const Block &body) {
    std::set<ValueId> inside(body.arguments.begin(), body.arguments.end());
    walk(body, [&](const Op &op) {
      inside.insert(op.results.begin(), op.results.end());
      for (const Block &region : op.regions)
        inside.insert(region.arguments.begin(), region.arguments.end());
    });
    walk(body, [&](const Op &op) {
      for (const ValueId operand : op.operands)
        if (!inside.contains(operand)) add(operand);
    });
  }

  void add(ValueId tile) {
    if (live_.insert(tile).second) registers_ += ofTile(tile);
  }
  void remove(ValueId tile) {
    if (live_.erase(tile) > 0) registers_ -= ofTile(tile);
  }
  std::int64_t ofTile(ValueId tile) const {
    const LayoutId held = kernel_.layoutOf(tile);
    return held.valid() ? registersOf(kernel_, tile, kernel_.layout(held)) : 0;
  }

  const Kernel &kernel_;
  std::set<ValueId> live_;
  std::int64_t registers_ = 0, most_ = 0;
};

} // namespace

std::int64_t registersOf(const Kernel &kernel, ValueId tile, const layout::LinearLayout &held) {
  constexpr std::int64_t kBitsOfRegister = 32;
  return layout::registerCount(held) * storageBits(kernel.type(tile).element()) / kBitsOfRegister;
}

std::int64_t registersAtFullest(const Kernel &kernel) { return LiveTiles(kernel).most(); }

bool multipliesSums(const Kernel &kernel, const Op &loop) {
  return anyOperand(loop, [&](ValueId operand) { return isOfProduct(kernel, operand); });
}

bool computesFromRegisters(const Kernel &kernel, const Op &loop, const machine::Machine &machine) {
  if (!loadsThroughFew(machine)) return false;
  return anyOperand(loop, [&](ValueId operand) {
    return sourcesOf(kernel, operand).has_value() && !isOfProduct(kernel, operand);
  });
}

bool transposesBesideSums(const Kernel &kernel, const Op &loop, const machine::Machine &machine) {
  if (!loadsThroughFew(machine)) return false;
  std::int64_t sums = 0;
  bool transposes = false;
  walk(loop.regions[0], [&](const Op &op) {
    if (isProduct(op) && isOnUnit(op))
      sums = std::max(
          sums, registersOf(kernel, op.result(), kernel.layout(kernel.layoutOf(op.result()))));
    if (op.kind == OpKind::RingSlot) transposes |= isTransposed(kernel, op);
  });
  return transposes && sums >= machine.maxRegistersPerThread / 2;
}

} // namespace imbrex::analysis
