#pragma once

#include "backend/passes/pipeline/loop_costs.h"
#include "backend/passes/pipeline/program_parts.h"

#include <set>
#include <vector>

namespace imbrex::passes::pipeline {

/// What a timeline wants of a kernel besides its order: what takes time, and how much.
class TimedWork {
public:
  using Ops = std::vector<schedule::ScheduleOp>;

  TimedWork(const ir::Kernel &kernel, const machine::Machine &machine, ProgramParts &parts)
      : kernel_(kernel), machine_(machine), parts_(parts) {}

  /// An op that is no part of the order. What is computed one after the other is one operation.
  void add(const ir::Op &op, Ops &ops);
  /// An op that reads so many bytes of slots.
  void addReads(const ir::Op &op, std::int64_t bytes, schedule::ScheduleOp access, Ops &ops);
  /// Of an op of the order.
  schedule::Cost costOf(const ir::Op &op) const;
  /// Of a loop whose body is read next: its loads that land in registers beside a trip, and the
  /// fragments that go from one trip to the next, count as what they are in between.
  void beginTrip(const ir::Op &loop);
  void endTrip(const ir::Op &loop, Ops &ops);

private:
  void addLoadAhead(const ir::Op &op, Ops &ops);
  void addWork(Work work, const schedule::ScheduleOp &access, Ops &ops);

  const ir::Kernel &kernel_;
  const machine::Machine &machine_;
  ProgramParts &parts_;
  const Source source_ = sourceOf(kernel_);
  std::set<const ir::Op *> ahead_, fragments_;
  Work carried_; ///< Of these in a trip, as long as no product has it beside it.
};

} // namespace imbrex::passes::pipeline
