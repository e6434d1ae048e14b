#include "tests/codegen/kernel_table.h"

#include "tests/codegen/table_row.h"

namespace imbrex::testing {
namespace {

/// Twice a number, by an instruction that all machines of a family have.
struct own_instruction {
  std::string_view text, constraints, target;
  void operator()(view<const i32, 1> x, view<i32, 1> y) const {
    y[box<100>(0)] = inline_asm<i32>(text, constraints, target, x[box<100>(0)]) + 1;
  }
};

own_instruction doubling(const machine::Machine &machine) {
  if (machine.family == machine::Family::Nvptx) return {"shl.b32 $0, $1, 1;", "=r,r", machine.name};
  return {"v_lshlrev_b32 $0, 1, $1", "=v,v", machine.name};
}

} // namespace

std::vector<TableKernel> kernelTable(const machine::Machine &machine) {
  std::vector<TableKernel> table;
  addValueKernels(table);
  addAxisKernels(table);
  addMemoryKernels(table);
  addExampleKernels(table);
  table.push_back(
      row("own_instruction", doubling(machine), {1, 1, 1}, {"random:100", "zeros:100"}));
  table.back().isEmulated = false;
  return table;
}

} // namespace imbrex::testing
