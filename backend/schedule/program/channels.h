#pragma once

#include "backend/schedule/program/program.h"
#include "backend/support/diagnostics.h"

#include <vector>

/// What hands what to whom: read off the accesses of a program, whatever its names are.
namespace imbrex::schedule {

/// A ring, and the roles at its ends. The use of a ring by a role lies between two advances of its
/// cursor.
struct Channel {
  RingId ring;
  RoleId producer;                 ///< The one role that writes its buffers.
  std::vector<RoleId> consumers;   ///< The roles that read them, in order.
  bool isReadByAsyncProxy = false; ///< By copies, or by queues that are of it.

  /// Whether its ends are different roles, so that a barrier has to stand between them.
  bool crossesRoles() const { return consumers.size() != 1 || consumers.front() != producer; }
};

/// The channels of all rings that something writes and reads; an error for a ring that two roles
/// write.
std::vector<Channel> findChannels(const Program &program, Diagnostics &diagnostics);

/// Whether two buffers that are not the same have bytes in common: those alone that say where they
/// lie can.
bool mayOverlap(const Program &program, BufferId a, BufferId b);

/// Calls `visit(op)` for each operation of a body and of the bodies in it, in order.
template <class Ops, class Visit>
void forEachOp(Ops &body, Visit visit) {
  for (auto &op : body) {
    visit(op);
    forEachOp(op.body, visit);
  }
}

} // namespace imbrex::schedule
