#pragma once

#include "backend/analysis/assumptions.h"
#include "backend/machine/machine.h"
#include "backend/support/diagnostics.h"

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace imbrex::passes {

/// What a pass may ask and tell, besides the kernel.
struct PassContext {
  // Not explicit: whoever compiles for the host has the diagnostics alone.
  PassContext(Diagnostics &reports, const machine::Machine &target = machine::hostMachine(),
              analysis::Assumptions assumed = {})
      : diagnostics(reports), machine(target), assumptions(std::move(assumed)) {}

  Diagnostics &diagnostics;
  const machine::Machine &machine;    ///< That the kernel is compiled for.
  analysis::Assumptions assumptions;  ///< What every launch of the code keeps.
  std::string *explanation = nullptr; ///< If asked: why a pass decided as it did, line by line.
  /// If asked: what is told after each pass, its name and how long it took.
  std::function<void(std::string_view, std::chrono::nanoseconds)> onPass = {};
};

} // namespace imbrex::passes
