#include "backend/schedule/program/channels.h"

#include <algorithm>

namespace imbrex::schedule {

namespace {

struct ChannelEnds {
  std::vector<RoleId> writers, readers;
  const ScheduleOp *write = nullptr;
  bool isReadByAsyncProxy = false;
};

void addOnce(std::vector<RoleId> &roles, RoleId role) {
  if (std::ranges::find(roles, role) == roles.end()) roles.push_back(role);
}

void addOp(const Program &program, RoleId role, const ScheduleOp &op,
           std::vector<ChannelEnds> &ends) {
  for (const Access &access : op.accesses) {
    const RingId ring = program[access.buffer].ring;
    if (!ring.valid()) continue;
    ChannelEnds &end = ends[ring.index()];
    addOnce(access.writes ? end.writers : end.readers, role);
    if (!access.writes) end.isReadByAsyncProxy |= program.isAsync(op);
    if (!access.writes) continue;
    end.write = &op;
  }
}

} // namespace

bool mayOverlap(const Program &program, BufferId a, BufferId b) {
  const Buffer &x = program[a], &y = program[b];
  if (x.space != y.space || !x.offset || !y.offset) return false;
  const auto end = [&](const Buffer &buffer) {
    return *buffer.offset + buffer.bytes * program.depthOf(buffer.ring);
  };
  return *x.offset < end(y) && *y.offset < end(x);
}

std::vector<Channel> findChannels(const Program &program, Diagnostics &diagnostics) {
  std::vector<ChannelEnds> ends(program.rings.size());
  for (std::uint32_t r = 0; r < program.roles.size(); ++r)
    forEachOp(program.roles[r].body,
              [&](const ScheduleOp &op) { addOp(program, RoleId(r), op, ends); });
  std::vector<Channel> channels;
  for (std::uint32_t ring = 0; ring < ends.size(); ++ring) {
    ChannelEnds &end = ends[ring];
    if (end.writers.empty() || end.readers.empty()) continue;
    if (end.writers.size() > 1) {
      diagnostics.report(Diag::ScheduleTwoProducers, end.write->where, program.rings[ring].name,
                         program[end.writers[0]].name, program[end.writers[1]].name);
      continue;
    }
    channels.push_back({.ring = RingId(ring),
                        .producer = end.writers.front(),
                        .consumers = std::move(end.readers),
                        .isReadByAsyncProxy = end.isReadByAsyncProxy});
  }
  return channels;
}

} // namespace imbrex::schedule
