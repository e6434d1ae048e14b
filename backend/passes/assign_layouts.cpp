#include "backend/passes/assign_layouts.h"

#include "backend/passes/layouts/layout_plan.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace imbrex::passes {
namespace {

using layouts::LayoutPlan;

constexpr std::int64_t kRegisterBits = 32;

std::int64_t bitsOf(const ir::Type &type) {
  return type.isPointerTile() ? 64 : ir::storageBits(type.element());
}

/// The registers that each thread of a full block may have; no limit on a machine without.
std::int64_t registersOfThread(const machine::Machine &machine, layout::Threads threads) {
  if (machine.maxRegistersPerThread == 0) return std::numeric_limits<std::int32_t>::max();
  return std::min(machine.maxRegistersPerThread, machine.registersPerCore / threads.count());
}

/// A tile that alone fills the registers cannot be: everything would live in memory.
void checkSizes(const ir::Kernel &kernel, const LayoutPlan &plan, const PassContext &context) {
  const std::int64_t limit = registersOfThread(context.machine, plan.threads);
  for (size_t i = 0; i < plan.sites.size(); ++i)
    for (const ir::ValueId value : plan.sites[i].definitions) {
      const ir::Type &type = kernel.type(value);
      const std::int64_t bits = bitsOf(type);
      const std::int64_t needed =
          llvm::divideCeil(layout::registerCount(plan.layouts[i]) * bits, kRegisterBits);
      if (needed <= limit) continue;
      const auto fitting = static_cast<std::uint64_t>(limit * kRegisterBits / bits);
      context.diagnostics.report(Diag::TileTooLarge, plan.sites[i].op->where, kernel.name(), type,
                                 needed, plan.threads.count(), context.machine.name, limit,
                                 llvm::bit_floor(fitting) * plan.threads.count());
      return;
    }
}

} // namespace

void assignLayouts(ir::Kernel &kernel, const PassContext &context) {
  const LayoutPlan plan = layouts::planLayouts(kernel, context.machine);
  checkSizes(kernel, plan, context);
  if (!context.diagnostics.hasErrors()) layouts::applyLayouts(kernel, plan);
}

} // namespace imbrex::passes
