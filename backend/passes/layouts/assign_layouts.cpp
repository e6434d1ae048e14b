#include "backend/passes/layouts/assign_layouts.h"

#include "backend/machine/occupancy.h"
#include "backend/passes/layouts/explain_layouts.h"
#include "llvm/ADT/bit.h"

#include <limits>
#include <string_view>

namespace imbrex::passes {
namespace {

/// How many registers the code may use, and who says so.
struct RegisterLimit {
  std::int64_t count;
  std::string_view of;
};

RegisterLimit registerLimit(const ir::Kernel &kernel, const machine::Machine &machine) {
  if (machine.maxRegistersPerThread == 0)
    return {std::numeric_limits<std::int32_t>::max(), machine.name};
  const std::int32_t most = machine::registersOfThread(machine, kernel.threads().count());
  const std::int32_t asked = kernel.attributes().registers;
  if (asked > 0 && asked < most) return {asked, "its hint `registers`"};
  return {most, machine.name};
}

/// A tile that alone fills the registers cannot be: everything would live in memory.
void checkSizes(const ir::Kernel &kernel, const PassContext &context) {
  const layout::Threads threads = kernel.threads();
  const RegisterLimit limit = registerLimit(kernel, context.machine);
  const auto isTooLarge = [&](const ir::Op &op, ir::ValueId value) {
    const ir::LayoutId layout = kernel.layoutOf(value);
    if (!layout.valid()) return false;
    const ir::Type &type = kernel.type(value);
    const std::int64_t needed = layouts::wordsOf(type, kernel.layout(layout));
    if (needed <= limit.count) return false;
    const auto words = llvm::bit_floor(static_cast<std::uint64_t>(limit.count));
    const std::int64_t fitting = static_cast<std::int64_t>(words) * 32 / layouts::bitsHeld(type);
    const bool hasMore = machine::canHaveTwice(context.machine, threads.count());
    context.diagnostics.report(Diag::TileTooLarge, op.where, kernel.name(), type, needed,
                               threads.count(), limit.of, limit.count, fitting * threads.count(),
                               hasMore ? ", or let blocks have more warps, by `warps`" : "");
    return true;
  };
  bool isReported = false; // one will do: what is made of a tile is as large
  walk(kernel.body(), [&](const ir::Op &op) {
    for (const ir::ValueId result : op.results) isReported = isReported || isTooLarge(op, result);
  });
}

} // namespace

bool hasRoomFor(const ir::Kernel &kernel, layout::Threads threads, const PassContext &context) {
  const machine::Machine &machine = context.machine;
  const std::int32_t warps = kernel.attributes().warps, registers = kernel.attributes().registers;
  if (machine.maxRegistersPerThread == 0) return true;
  if (const std::int32_t most = machine.maxThreads / machine.warpSize; warps > most) {
    context.diagnostics.report(Diag::WarpsOfMachine, kernel.where(), kernel.name(), warps,
                               machine.name, most, machine.warpSize);
    return false;
  }
  const std::int32_t limit = machine::registersOfThread(machine, threads.count());
  if (registers <= limit) return true;
  context.diagnostics.report(Diag::RegistersOfMachine, kernel.where(), kernel.name(), registers,
                             threads.count(), machine.name, limit);
  return false;
}

void assignLayouts(ir::Kernel &kernel, const PassContext &context) {
  const layout::Threads threads = layouts::chooseThreads(kernel, context.machine);
  if (!hasRoomFor(kernel, threads, context)) return;
  const analysis::AxisAnalysis facts(kernel, context.assumptions);
  const layouts::LayoutQuestion question{.kernel = kernel,
                                         .threads = threads,
                                         .machine = context.machine,
                                         .facts = facts,
                                         .assumptions = context.assumptions};
  const layouts::LayoutPlan plan = layouts::planLayouts(question);
  layouts::applyLayouts(kernel, plan);
  checkSizes(kernel, context);
  if (context.explanation) *context.explanation += layouts::explainLayouts(kernel, plan);
}

} // namespace imbrex::passes
