#pragma once

#include "backend/machine/machine.h"
#include "backend/passes/pipeline/loop_loads.h"

#include <string>

namespace imbrex::passes::pipeline {

/// Where a machine has no asynchronous copies, or none for a loop's loads: start these one trip
/// ahead and carry what they load in registers. An ordinary load lets its thread go on until the
/// registers are used, so that nothing need be waited for, and nothing proven, as long as the
/// tile stays there.
///
///   before                          after
///                                   %first = if low < high { load address(trip 0) } else { zeros }
///   for %i = low … high {           for %i = low … high (…, %x = %first) {
///     %x = load address(%i)           %next = if high - %i > 1 step { load address(trip + 1) } …
///     use %x                          use %x
///                                     yield …, %next
///   }                               }
///
/// What products alone read is stored into a slot in front of them, and read there: then the loads
/// behind it can have the same registers.
///
///   %ring = ring.new           // in front of all that the kernel does
///   …
///   for %i = low … high (…, %x = %first) {
///     meet                    // the last trip's reads are over
///     ring.store %ring, %x
///     %next = if high - %i > 1 step { load address(trip + 1) } …
///     meet
///     %slot = ring.slot %ring
///     use shared.load %slot
///     yield …, %next
///   }
///
/// Where halves of the warps are to take turns (take_turns.h), a trip stores what the next one
/// reads behind all that it reads itself, and loads for the one behind that.
///
/// More than one trip ahead is not for registers: they would have to be moved on with each trip,
/// and a move waits for what it moves.
///
/// Returns the rings of what is stored, in the loads' order: new ones, or those given, of a loop in
/// front of it (refill_rings.h).
std::vector<ir::ValueId> stageLoads(ir::Kernel &kernel, ir::Block &block, std::size_t loop,
                                    const LoopLoads &loads, const machine::Machine &machine,
                                    std::vector<ir::ValueId> rings);

/// Why the registers of a thread are too few for it; empty where they are not.
std::string tooManyRegisters(const ir::Kernel &kernel, const LoopLoads &loads,
                             const machine::Machine &machine);

} // namespace imbrex::passes::pipeline
