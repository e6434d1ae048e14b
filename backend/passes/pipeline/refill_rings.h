#pragma once

#include "backend/passes/pipeline/loop_loads.h"

#include <map>

/// Loops in a row that have tiles of the same kind fill the same rings, one loop after the other:
/// the two parts of causal attention, in front of the diagonal and on it.
///
///   before                                 after
///   %r = ring.new [slots = 2]              %r = ring.new [slots = 2]
///   %s = ring.new [slots = 2]
///   for … { ring.copy %r … }               for … { ring.copy %r … }
///   for … { ring.copy %s … }               for … { ring.copy %r … }
///
/// A loop that runs to its end has taken all slots that were filled, and the next one goes on with
/// the slot behind. What it fills ahead are all slots but the one that the last trip reads, and the
/// other ones' readers have met in that trip; stores meet in any case. So nothing more has to be
/// waited for, which the proof of the whole confirms (prove_rings.h).
namespace imbrex::passes::pipeline {

/// Whether a loop can fill the rings of one in front of it, of as many slots; loads in registers
/// alone have no rings.
///
/// Both stand in one body and are run to their ends; tiles lie alike, products alone read them,
/// copies are as wide, and hints are the same. Of rings with several slots both loops also work on
/// tiles beside their products: code that does not may have a body for each slot, and would not if
/// its first slot were any (lower/memory/ring_turn.h).
bool canRefill(const ir::Kernel &kernel, const ir::Op &first, const LoopLoads &itsLoads,
               const ir::Op &second, const LoopLoads &loads);

/// By loop, of `loops`, which have plans: the one whose rings it fills, as its plan says
/// (ForAttrs). A file may say so of any loop; one that cannot has rings of its own.
std::map<const ir::Op *, const ir::Op *> refilledLoops(const ir::Kernel &kernel,
                                                       const std::vector<ir::Op *> &loops);

} // namespace imbrex::passes::pipeline
