#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes {

/// Let a product that is added to sums begin with them, in place of with zeros.
///
///   before                                after
///   %1 = dot %a, %b, %zero                %2 = dot %a, %b, %sums
///   %2 = add %sums, %1
///
///   %1 = dot %a, %b, %zero                %3 = mul %sums, %shrink
///   %2 = fma %sums, %shrink, %1           %2 = dot %a, %b, %3
///
///   %1 = dot %a, %b, %zero                %3 = neg %a
///   %2 = sub %sums, %1                    %2 = dot %3, %b, %sums
///
/// A product is a tile of registers as large as the sums, and all of it is there before the first
/// element is added: so there would be two. It is the same number where sums are exact, and as good
/// a one where they are not, for a product adds in any order (docs/semantics.md, Contraction); a
/// kernel without contraction keeps those apart.
///
/// A product that is asked for elsewhere as well stays, and so does one that is added to what was
/// loaded: it would have to be brought to the product's layout first, and is added in its own.
///
/// Runs behind cse, which may find a product twice, and licm, which may find it in a loop for
/// nothing; and before products are expanded, so that it has to know two ops alone.
void accumulateProducts(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes
