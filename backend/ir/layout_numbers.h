#pragma once

#include "backend/ir/kernel.h"

#include <vector>

namespace imbrex::ir {

/// The layouts that a kernel's tiles have, in the order in which the text form numbers them: that
/// of their first use.
std::vector<LayoutId> layoutsInOrder(const Kernel &kernel);

} // namespace imbrex::ir
