#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

#include <string_view>

namespace imbrex {

/// One step of the compiler: a free function over the IR, and the stages it starts at and reaches.
struct Pass {
  std::string_view name;
  void (*run)(ir::Kernel &kernel, const passes::PassContext &context);
  ir::Stage from;
  ir::Stage to;
};

} // namespace imbrex
