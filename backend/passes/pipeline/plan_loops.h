#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes::pipeline {

/// Decide how the loops that are marked `pipelined` run ahead: how many slots the rings of each
/// have, and whether a role of its own loads.
///
///   before                           after
///   for … [pipelined = 3] {          for … [pipelined = 3, slots = 3, loader = true] {
///     … = view.load … [ahead = …]      … = view.load … [ahead = …]
///
/// The slots are the author's, as far as there is room, or as many as pay; where several loops are
/// in each other or in a row, few enough for the proof of all of them to take its share of a
/// compilation and no more. Where all loads of a loop are to run ahead in registers, because copies
/// can bring none or, in the order of lanes, would not be worth it, `slots = 1`; those that
/// products alone read then are `[ahead = stores]`, as long as there is room for a slot. A loop
/// that had better stay as it is has no slots, and its loads do not run ahead; `--explain` says
/// why.
///
/// Runs behind study-loads, which says what may run ahead, and in front of apply-plans, which does
/// as these attributes say, and decides but how what is loaded lies on threads.
void planLoops(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes::pipeline
