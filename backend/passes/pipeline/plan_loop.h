#pragma once

#include "backend/passes/pipeline/loop_loads.h"
#include "backend/schedule/plan/plan.h"

#include <optional>
#include <set>
#include <string>

namespace imbrex::passes::pipeline {

/// How a loop's loads run ahead: a schedule of the loop, in which buffer i is what load i fills. Of
/// one role, or of one that loads and one that computes, in this order.
struct LoopPlan {
  schedule::Program program; ///< With all that orders it.
  schedule::TripsId trips;   ///< Of the loop.
  std::int32_t slots = 1;
  std::string explanation = {};
};

/// The room that a block has for rings.
struct RingRoom {
  std::int64_t bytes;    ///< For rings: what is left of
  std::int64_t limit;    ///< what a block may use, after
  std::int64_t exchange; ///< what lowering takes to move tiles between threads.
  std::int32_t slots = ir::ForAttrs::kMostSlots; ///< Of each ring at most.
};
/// `inPlace`: values that will be read where they lie (LoopLoads::inPlace), and take no exchange.
RingRoom ringRoom(const ir::Kernel &kernel, const machine::Machine &machine,
                  const std::set<ir::ValueId> &inPlace = {});

/// Plan a loop whose loads can run ahead, with the author's slots or as many as pay: the abstract
/// program of its trips (schedule/program/program.h), which schedule/plan/plan.h orders. Of the
/// author's slots as many are taken as there is room for. Nothing where the loop had better stay as
/// it is, with the reason in `why`.
std::optional<LoopPlan> planLoop(const ir::Kernel &kernel, const ir::Op &loop,
                                 const LoopLoads &loads, const RingRoom &room,
                                 const PassContext &context, std::string &why);

/// The same of boxes that a role of its own loads.
std::optional<LoopPlan> planRoles(const ir::Kernel &kernel, const ir::Op &loop,
                                  const LoopLoads &loads, const RingRoom &room,
                                  const PassContext &context, std::string &why);

} // namespace imbrex::passes::pipeline
