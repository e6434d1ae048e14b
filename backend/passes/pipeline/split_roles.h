#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes::pipeline {

/// Take a kernel apart whose loops have been written for a role that loads and one that computes.
///
///   before                                  after
///   %r = ring.new …                         %r = ring.new …
///   for %i = low … high (%sum)              roles {
///       [loader = true] {                     for %i = low … high {
///     barrier.wait %empty [flipped]             barrier.wait %empty [flipped]
///     barrier.expect %full                      barrier.expect %full
///     ring.load_box %r, %full, …                ring.load_box %r, %full, …
///     barrier.wait %full                      }
///     %x = ring.slot %r                     } else {
///     barrier.arrive %empty                   for %i = low … high (%sum) {
///     …                                         barrier.wait %full
///   }                                           %x = ring.slot %r
///   store …                                     barrier.arrive %empty
///                                               …
///                                             }
///                                             store …
///                                           }
///
/// Each role keeps the loops and conditions around its ops, and computes for itself what these and
/// the addresses are made of. Registers are handed over where the roles' warps allow it
/// (machine/role_registers.h).
///
/// Runs behind apply-plans, which writes what both roles do into one body.
void splitRoles(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes::pipeline
