#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes {

/// Turn variables into values: what a loop assigns becomes a carried value, what an if assigns
/// becomes a result of it.
///
///   before                                 after
///   %x = var.new %zero                     %r = for %lo, %hi, %one, %zero (%i: i32, %x: f32) {
///   for %lo, %hi, %one (%i: i32) {           %2 = add %x, %step
///     %1 = var.read %x                       break_if %done, %2
///     %2 = add %1, %step                     yield %2
///     var.write %x, %2                     }
///     break_if %done                       store %p, %r
///     yield
///   }
///   %3 = var.read %x
///   store %p, %3
///
/// A loop carries only the variables that are assigned somewhere inside it; the others are plain
/// values from outside. A carried value that nobody reads again is left for dce.
///
/// Runs first, because every other pass reads values. Takes a kernel from stage Traced to Tiles.
void constructSsa(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes
