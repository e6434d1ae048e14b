#pragma once

#include "backend/ir/kernel.h"

#include <string>
#include <vector>

namespace imbrex::ir {

/// The layouts that a kernel's tiles have, in the order in which the text form numbers them: that
/// of their first use.
std::vector<LayoutId> layoutsInOrder(const Kernel &kernel);

/// A text about a kernel's layouts, each spelled out behind the word `layout`, with the numbers of
/// those that the kernel's text form lists: `layout #2`. Others, whose tiles later passes have
/// taken away, stay spelled out.
std::string withLayoutNumbers(std::string text, const Kernel &kernel);

} // namespace imbrex::ir
