#pragma once

#include "backend/ir/types.h"
#include "backend/launching/sort.h"

namespace imbrex::host {

/// How `sort` orders elements of a kind.
launching::KeyRule keyRuleOf(ir::ElementKind element, bool isDescending);

} // namespace imbrex::host
