#include "backend/schedule/timeline/blocks_of_core.h"

#include "backend/schedule/program/channels.h"

#include <algorithm>

namespace imbrex::schedule {
namespace {

/// Appends a block to those that a program has.
class BlockAppender {
public:
  BlockAppender(Program &core, const Program &block, std::int32_t number,
                const DealtResource &dealt)
      : core_(core), block_(block), suffix_("." + std::to_string(number)), dealt_(dealt.name),
        part_(partOf(dealt, number)), rings_(core.rings.size()), buffers_(core.buffers.size()),
        barriers_(core.barriers.size()), meetings_(core.meetings.size()), roles_(core.roles.size()),
        cursors_(core.cursors.size()), queues_(core.queues.size()) {}

  void run() {
    append(core_.rings, block_.rings, [](Ring &) {});
    append(core_.buffers, block_.buffers, [&](Buffer &buffer) {
      move(buffer.ring, rings_);
      buffer.offset.reset();
    });
    append(core_.barriers, block_.barriers, [&](Barrier &barrier) { move(barrier.ring, rings_); });
    // The machine's barriers, from 0, which meetings of one block may share.
    append(core_.meetings, block_.meetings, [&](Meeting &meeting) {
      const auto first = std::ranges::find(block_.meetings, meeting.number, &Meeting::number);
      meeting.number = static_cast<std::int32_t>(
          meetings_ + static_cast<std::size_t>(first - block_.meetings.begin()));
    });
    append(core_.cursors, block_.cursors, [&](Cursor &cursor) {
      move(cursor.role, roles_);
      move(cursor.ring, rings_);
    });
    append(core_.queues, block_.queues, [&](Queue &queue) { move(queue.role, roles_); });
    append(core_.roles, block_.roles,
           [&](Role &role) { forEachOp(role.body, [&](ScheduleOp &op) { moveOp(op); }); });
  }

private:
  template <class Named, class Adapt>
  void append(std::vector<Named> &all, const std::vector<Named> &own, Adapt adapt) {
    for (Named made : own) {
      made.name += suffix_;
      adapt(made);
      all.push_back(std::move(made));
    }
  }

  template <class Tag>
  static void move(Id<Tag> &id, std::size_t by) {
    if (id.valid()) id = Id<Tag>(id.index() + static_cast<std::uint32_t>(by));
  }

  void moveOp(ScheduleOp &op) const {
    for (Access &access : op.accesses) {
      move(access.buffer, buffers_);
      move(access.index.cursor, cursors_);
    }
    move(op.barrier, barriers_);
    move(op.index.cursor, cursors_);
    move(op.queue, queues_);
    move(op.meeting, meetings_);
    move(op.cursor, cursors_);
    if (op.cost.resource == dealt_) op.cost.resource = part_;
  }

  Program &core_;
  const Program &block_;
  std::string suffix_;
  std::string_view dealt_;
  std::string part_;
  std::size_t rings_, buffers_, barriers_, meetings_, roles_, cursors_, queues_;
};

} // namespace

std::string partOf(const DealtResource &dealt, std::int32_t block) {
  const std::string name(dealt.name);
  return dealt.parts == 1 ? name : name + "." + std::to_string(block % dealt.parts);
}

Program blocksOfCore(const Program &block, std::int32_t blocks, const DealtResource &dealt) {
  Program core{.name = block.name, .trips = block.trips, .where = block.where};
  for (std::int32_t number = 0; number < blocks; ++number)
    BlockAppender(core, block, number, dealt).run();
  return core;
}

} // namespace imbrex::schedule
