#include "backend/analysis/full_registers.h"

#include "backend/analysis/operand_sources.h"
#include "backend/ir/products.h"
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

} // namespace

bool multipliesSums(const Kernel &kernel, const Op &loop) {
  return anyOperand(loop, [&](ValueId operand) { return isOfProduct(kernel, operand); });
}

bool computesFromRegisters(const Kernel &kernel, const Op &loop, const machine::Machine &machine) {
  constexpr std::int32_t kFew = 256; // CDNA has twice as many
  if (machine.asyncCopies.sizes != 0 || machine.maxRegistersPerThread > kFew) return false;
  return anyOperand(loop, [&](ValueId operand) {
    return sourcesOf(kernel, operand).has_value() && !isOfProduct(kernel, operand);
  });
}

} // namespace imbrex::analysis
