#pragma once

#include "backend/passes/pipeline/agents.h"
#include "backend/passes/pipeline/read_schedule.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

namespace imbrex::passes::pipeline {

/// What the ops of a kernel name in the program that is read off it: a ring, a buffer or a barrier
/// for what kernels have one of, and for each role the cursors that go through them, and queues.
class ProgramParts {
public:
  /// What a cursor of a role goes through a ring for.
  enum class Walks : std::uint8_t { Filled, Taken, Arrives, Awaits };
  /// Of a role: what ends in order, and is waited for.
  enum class QueueOf : std::uint8_t { Copies, Fragments, Loads };

  ProgramParts(const ir::Kernel &kernel, KernelSchedule &read) : kernel_(kernel), read_(read) {}

  void addRing(const ir::Op &op);
  /// False: a phase would be over before all warps have arrived.
  bool addBarriers(const ir::Op &op);
  /// Cursors and queues are from now on those of this role.
  void begin(schedule::RoleId role) { role_ = role, queues_ = {}; }

  schedule::BufferId buffer(ir::ValueId ring) const { return buffers_.at(ring); }
  schedule::BarrierId barrier(ir::ValueId value) const { return barriers_.at(value); }
  schedule::CursorId cursor(ir::ValueId of, Walks walks);
  schedule::QueueId queue(QueueOf what);
  schedule::RoleId role() const { return role_; }

private:
  schedule::RingId addSlots(const ir::Op &op, std::string name, std::int32_t slots);

  const ir::Kernel &kernel_;
  KernelSchedule &read_;
  std::map<ir::ValueId, schedule::RingId> slots_;       // of rings and barriers
  std::map<ir::ValueId, schedule::BufferId> buffers_;   // by ring
  std::map<ir::ValueId, schedule::BarrierId> barriers_; // by barrier
  std::map<std::tuple<schedule::RoleId, ir::ValueId, Walks>, schedule::CursorId> cursors_;
  schedule::RoleId role_;
  std::array<schedule::QueueId, 3> queues_; // the role's
};

} // namespace imbrex::passes::pipeline
