#pragma once

#include "backend/ir/kernel.h"

namespace imbrex::analysis {

/// The last op of the kernel's body that has to do with slots into which threads copy; exchanges
/// behind it may lie where these do, once all threads have met. Null where there are none, or where
/// copies may still be under way: what an engine loads, and what a loop left that is not run to its
/// end. Otherwise each trip has waited for what it uses, and nothing else was copied, but on
/// machines that count copies those that nobody wants: threads wait for these before they meet.
///
/// In front of apply-plans the loops are told by what is asked and planned of them.
const ir::Op *lastUseOfRings(const ir::Kernel &kernel);

} // namespace imbrex::analysis
