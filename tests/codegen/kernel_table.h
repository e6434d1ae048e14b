#pragma once

#include "backend/ir/argument.h"
#include "backend/ir/kernel.h"
#include "backend/machine/machine.h"

#include <array>
#include <string>
#include <vector>

/// Kernels that together use every family of ops and all that the examples do, each with a small
/// launch: the tests make code of them for every GPU, and run them on emulated ones.
namespace imbrex::testing {

struct TableKernel {
  std::string name;
  ir::Kernel kernel; // at stage traced
  ir::Grid grid;
  std::vector<std::string> arguments; ///< What `imbrex run --arg` takes behind the `=`.
  bool isEmulated = true;             ///< Whether the emulator has a model of all that it does.
};

/// One of them has instructions of the machine's own.
std::vector<TableKernel> kernelTable(const machine::Machine &machine);

// The parts, by file.
void addValueKernels(std::vector<TableKernel> &table);   // elementwise, conversions, shapes
void addAxisKernels(std::vector<TableKernel> &table);    // reductions, scans, sorts, products
void addMemoryKernels(std::vector<TableKernel> &table);  // accesses, atomics, control flow
void addExampleKernels(std::vector<TableKernel> &table); // the examples' own

} // namespace imbrex::testing
