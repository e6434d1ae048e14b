#pragma once

#include "backend/target/host/plan/loop_plan.h"

namespace imbrex::host {

/// The plan in lines of text.
std::string toText(const LoopPlan &plan, const ir::Kernel &kernel);

} // namespace imbrex::host
