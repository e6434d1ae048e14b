#pragma once

#include "backend/machine/machine.h"
#include "backend/passes/pipeline/loop_loads.h"
#include "backend/schedule/program/program.h"

/// The abstract program of a loop whose loads run ahead (schedule/program/program.h).
namespace imbrex::passes::pipeline {

/// What is decided of a loop: its attributes `slots` and `loader`.
struct LoopChoice {
  std::int32_t slots;
  bool hasLoader; ///< A role of its own loads.
};

/// A loop's trips one after the other, each beginning with its loads: buffer i is what load i
/// fills. Copies by a loader count on barriers, others are operations of a queue.
struct LoopWork {
  schedule::Program program;
  schedule::TripsId trips; ///< Of the loop.
};
LoopWork workOf(const ir::Kernel &kernel, const ir::Op &loop, const LoopLoads &loads,
                bool hasLoader, const machine::Machine &machine);

/// The same, in the order in which its loads run ahead; with all that orders it. Of one role, or of
/// one that loads and one that computes, in this order.
struct LoopOrder {
  schedule::Program program;
  schedule::TripsId trips;
  std::int32_t slots;

  bool isOfRoles() const { return program.roles.size() > 1; }
};
LoopOrder orderLoop(const ir::Kernel &kernel, const ir::Op &loop, const LoopLoads &loads,
                    const LoopChoice &choice, const machine::Machine &machine);

} // namespace imbrex::passes::pipeline
