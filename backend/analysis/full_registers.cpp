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

} // namespace

std::int64_t registersOf(const Kernel &kernel, ValueId tile, const layout::LinearLayout &held) {
  constexpr std::int64_t kBitsOfRegister = 32;
  return layout::registerCount(held) * storageBits(kernel.type(tile).element()) / kBitsOfRegister;
}

std::int64_t registersOfFullestOp(const Kernel &kernel) {
  std::int64_t most = 0;
  walk(kernel.body(), [&](const Op &op) {
    std::int64_t all = 0;
    const auto add = [&](ValueId value) {
      if (const LayoutId held = kernel.layoutOf(value); held.valid())
        all += registersOf(kernel, value, kernel.layout(held));
    };
    llvm::for_each(op.operands, add);
    llvm::for_each(op.results, add);
    most = std::max(most, all);
  });
  return most;
}

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
