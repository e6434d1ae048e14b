#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes {

/// Sort part by part where only the first few elements of a long sort are asked for.
///
///   before                                  after
///   %1 = view.load %x, %0 : f32[50000]      %1 = view.load of the last part : f32[1616]
///   %2 = arange : i32[50000]                %2 = arange from where it begins : i32[1616]
///   %3, %4 = sort %1, %2                    %3, %4 = sort %1, %2
///   %5 = slice %3 : f32[50]                 %5, %6 = slice %3, slice %4 : f32[50], i32[50]
///   %6 = slice %4 : i32[50]                 for 5, -1, -1, %5, %6 (%part, %best, %places) {
///                                             …, load that part in front of the best so far,
///                                             sort, and keep the first
///                                           }
///
/// A sort is stable, and what is compared with what does not depend on the others: of elements that
/// are not among the first of their part, none is among the first of all. So it goes from the last
/// part to the first, each in front of what is behind it.
///
/// What is sorted is reckoned anew for each part from what it is loaded from, so that not all of it
/// is ever held. Where it cannot be, because it comes from something else or its memory may be
/// written in between, it is held, and its parts are sorted one after the other, without a loop.
///
/// Runs when all is simplified once, and before functions are expanded, which are then written for
/// a part.
void sortByParts(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes
