#pragma once

#include "backend/ir/kernel.h"

namespace imbrex::analysis {

/// Whether an `if` is for loads alone, which fill with zeros, and gives zeros where it does not
/// hold. So loads whose masks hold its condition as well need no branch.
///
///   %next = if %more { %a = view.load %A, %m, %k; yield %a } else { yield 0 }
bool isOfLoads(const ir::Kernel &kernel, const ir::Op &op);

} // namespace imbrex::analysis
