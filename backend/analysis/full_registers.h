#pragma once

#include "backend/ir/kernel.h"
#include "backend/machine/machine.h"

/// What registers tiles take, and loops whose products on matrix units leave a thread none to
/// spare.
namespace imbrex::analysis {

/// Of a thread that holds a tile so, 32-bit ones.
std::int64_t registersOf(const ir::Kernel &kernel, ir::ValueId tile,
                         const layout::LinearLayout &held);

/// The same of all tiles that are wanted at a time, at the fullest place of a laid kernel.
std::int64_t registersAtFullest(const ir::Kernel &kernel);

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
