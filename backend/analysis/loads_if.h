#pragma once

#include "backend/ir/kernel.h"

namespace imbrex::analysis {

/// Whether an op is a load that gives zeros outside of what it may read.
bool fillsWithZeros(const ir::Kernel &kernel, const ir::Op &op);

/// Whether an `if` is for such loads alone and what they are made of, without effects, and gives
/// zeros where it does not hold. So loads whose masks hold its condition as well need no branch.
///
///   %next = if %more { %a = view.load %A, %m, %k; yield %a } else { yield 0 }
bool isOfLoads(const ir::Kernel &kernel, const ir::Op &op);

} // namespace imbrex::analysis
