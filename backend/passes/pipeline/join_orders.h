#pragma once

#include "backend/passes/pipeline/order_loop.h"

#include <map>

namespace imbrex::passes::pipeline {

struct OrderedLoop {
  const LoopLoads &loads;
  LoopOrder order;
  const ir::Op *refills = nullptr; ///< The loop whose rings it fills again.
};
using LoopOrders = std::map<const ir::Op *, OrderedLoop>;

/// The program that a kernel's loops will be together when each runs in its order: what has to be
/// proven then, before anything is written. Loops, branches and ways out that these stand in run
/// any number of times, or not. It is not what is proven in the end, which is read off the kernel
/// (read_schedule.h), but has as many states, more or less.
schedule::Program joinOrders(const ir::Kernel &kernel, const LoopOrders &orders);

} // namespace imbrex::passes::pipeline
