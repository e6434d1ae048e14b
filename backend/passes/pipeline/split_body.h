#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pipeline/loop_loads.h"

#include <string>
#include <vector>

/// A role of its own for the engine's loads.
namespace imbrex::passes::pipeline {

/// Why nobody but the kernel's own threads can start the loads of these loops: what decides where
/// and whether they load is known to them alone, or the kernel waits for all of a block's threads
/// in a way that is not ours. Empty where a role of its own can.
std::string whyNoLoader(const ir::Kernel &kernel, const std::vector<const ir::Op *> &loops,
                        const std::vector<LoopLoads> &loads, const machine::Machine &machine);

/// Take a kernel apart whose loops have been written for two roles.
///
///   before                                  after
///   %r = ring.new …                         %r = ring.new …
///   for %i = low … high (%sum) {            roles {
///     barrier.wait %empty [flipped]           for %i = low … high {
///     barrier.expect %full                      barrier.wait %empty [flipped]
///     ring.load_box %r, %full, …                barrier.expect %full
///     barrier.wait %full                        ring.load_box %r, %full, …
///     %x = ring.slot %r                       }
///     barrier.arrive %empty                 } else {
///     …                                       for %i = low … high (%sum) {
///   }                                           barrier.wait %full
///   store …                                     %x = ring.slot %r
///                                               barrier.arrive %empty
///                                               …
///                                             }
///                                             store …
///                                           }
///
/// Each role keeps the loops and conditions around its ops, and computes for itself what these and
/// the addresses are made of. Registers are handed over where the roles' warps allow it
/// (machine/role_registers.h). What was decided on these is given back.
ir::RolesAttrs splitBody(ir::Kernel &kernel, const machine::Machine &machine);

} // namespace imbrex::passes::pipeline
