#pragma once

#include "backend/ir/kernel.h"
#include "backend/machine/machine.h"

/// Loops whose products on matrix units leave a thread no registers to spare.
namespace imbrex::analysis {

/// Whether sums of one product in it are another's operand, as in attention: both sums are there at
/// once, and the operand.
bool multipliesSums(const ir::Kernel &kernel, const ir::Op &loop);

/// Whether an operand is computed from what is loaded into registers, a trip ahead, and not from
/// sums: what this trip computes from is there beside what is loaded for the next one, and the
/// sums.
bool computesFromRegisters(const ir::Kernel &kernel, const ir::Op &loop,
                           const machine::Machine &machine);

/// Whether sums take half of the registers, and threads transpose what they store into slots: then
/// each row that one loads, and each word that it stores, has an address of its own.
bool transposesBesideSums(const ir::Kernel &kernel, const ir::Op &loop,
                          const machine::Machine &machine);

} // namespace imbrex::analysis
