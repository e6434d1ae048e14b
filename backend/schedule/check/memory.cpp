#include "backend/schedule/check/run.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

// What accesses of one cell must hold against each other.
namespace imbrex::schedule::check {

namespace {

/// The reads that are over last, one for each axis: whoever knows that one is over knows the
/// others.
void remember(llvm::SmallVectorImpl<RecordedAccess> &reads, const RecordedAccess &read) {
  const auto axis = [](const RecordedAccess &touch) { return touch.end.axis; };
  auto *const place = std::ranges::lower_bound(reads, read.end.axis, {}, axis);
  if (place != reads.end() && axis(*place) == read.end.axis)
    *place = read;
  else
    reads.insert(place, read);
}

} // namespace

bool Run::isBefore(const RecordedAccess &earlier, const RecordedAccess &later,
                   const Event *alsoKnown) const {
  if (earlier.end.axis < 0) return true;
  if (alsoKnown && alsoKnown->axis == earlier.end.axis && alsoKnown->time >= earlier.end.time)
    return true;
  return clock(later.agent)[earlier.end.axis] >= earlier.end.time;
}

/// An operation's reads are remembered behind its writes, which are held against the reads of all
/// others and not against its own.
void Run::touch(std::int32_t agent, const ScheduleOp &op, Event end, const Event *alsoKnown) {
  const auto forEach = [&](bool writes, auto use) {
    for (const Access &access : op.accesses) {
      if (access.writes != writes) continue;
      const std::int64_t number = useOf(agent, access.index);
      const RecordedAccess touch = {.end = end,
                                    .op = &op,
                                    .agent = agent,
                                    .buffer = access.buffer,
                                    .use = number,
                                    .hasUse = access.index.cursor.valid(),
                                    .isAsync = model_->program.isAsync(op)};
      const CellRange range = model_->cellsOf(access, number, agent);
      for (std::int32_t c = range.first; c < range.first + range.count; ++c) use(c, touch);
    }
  };
  const auto cell = [&](std::int32_t c) -> Cell & { return cells_[static_cast<std::size_t>(c)]; };
  forEach(false, [&](std::int32_t c, const RecordedAccess &read) { readCell(c, read, alsoKnown); });
  forEach(true, [&](std::int32_t c, const RecordedAccess &write) {
    writeCell(c, write, alsoKnown);
    cell(c).write = write;
    cell(c).reads.clear();
    for (const std::int32_t claim : model_->claimsOnCell(c)) claimed(claim).op = nullptr;
  });
  if (op.kind == ScheduleOpKind::Access) return;
  forEach(false,
          [&](std::int32_t c, const RecordedAccess &read) { remember(cell(c).reads, read); });
}

void Run::readCell(std::int32_t number, const RecordedAccess &read, const Event *alsoKnown) {
  const RecordedAccess &write = cells_[static_cast<std::size_t>(number)].write;
  if (read.op->kind == ScheduleOpKind::Access)
    claim(model_->claimOf(read.agent, model_->claimsOnCell(number)), read);
  if (!write.op) return find(Diag::ScheduleUnwritten, *read.op, describe(read));
  if (!isBefore(write, read, alsoKnown))
    return find(Diag::ScheduleReadRace, *read.op, describe(read), describe(write));
  if (write.buffer != read.buffer || write.use != read.use)
    return find(Diag::ScheduleWrongContent, *read.op, describe(read), describe(write));
  checkProxy(write, read);
}

void Run::writeCell(std::int32_t number, const RecordedAccess &write, const Event *alsoKnown) {
  const Cell &cell = cells_[static_cast<std::size_t>(number)];
  if (cell.write.op && !isBefore(cell.write, write, alsoKnown))
    return find(Diag::ScheduleWriteRace, *write.op, describe(write), describe(cell.write),
                hintForWrites(write, cell.write));
  for (const RecordedAccess &read : cell.reads)
    if (!isBefore(read, write, alsoKnown))
      return find(Diag::ScheduleOverwriteRace, *write.op, describe(write), describe(read));
  for (const std::int32_t claim : model_->claimsOnCell(number)) {
    const RecordedAccess &read = claimed(claim);
    if (read.op && !isBefore(read, write, alsoKnown))
      return find(Diag::ScheduleOverwriteRace, *write.op, describe(write), describe(read));
  }
  if (cell.write.op) checkProxy(cell.write, write);
}

/// A copy or queue of the async proxy sees plain writes only behind a fence.
void Run::checkProxy(const RecordedAccess &earlier, const RecordedAccess &later) {
  if (model_->program[later.buffer].space != Space::Shared || earlier.isAsync || !later.isAsync)
    return;
  if (earlier.end.axis < 0) return;
  const std::int32_t *visible = clock(later.agent) + model_->axes;
  if (visible[earlier.end.axis] < earlier.end.time)
    find(Diag::ScheduleUnfenced, *later.op, describe(later), describe(earlier));
}

/// Whether every agent that can write the cell knows so: a read holds up nobody else.
bool Run::isReadOver(const RecordedAccess &read, std::int32_t cell) const {
  for (std::int32_t agent = 0; agent < agents(); ++agent) {
    if (!model_->writes(agent, pcOf(agent), cell)) continue;
    if (clock(agent)[read.end.axis] < read.end.time) return false;
  }
  return true;
}

/// Whether the cell has been read since it was written.
bool Run::isRead(std::int32_t cell) const {
  return !cells_[static_cast<std::size_t>(cell)].reads.empty() ||
         llvm::any_of(model_->claimsOnCell(cell),
                      [&](std::int32_t claim) { return claimed(claim).op != nullptr; });
}

/// Whether every agent that comes to the cell again knows so, of a plain write also in the async
/// proxy's view: what a read has seen, nobody asks the proxy for. Without such an agent somebody
/// else must, for the end of the block.
///
/// Of what has been read, those need not know that can only write it: they are held against the
/// reads, and who knows that a read is over knows so of what it has read.
bool Run::isWriteOver(const RecordedAccess &write, std::int32_t cell) const {
  const auto [axis, time] = write.end;
  if (axis < 0) return true;
  const bool isFenced = isSeenByProxy(write), isSeen = !isFenced && isRead(cell);
  const auto knows = [&](std::int32_t agent) {
    return clock(agent)[axis] >= time && (!isFenced || clock(agent)[model_->axes + axis] >= time);
  };
  bool isConcerned = false, isKnown = false;
  for (std::int32_t agent = 0; agent < agents(); ++agent) {
    const bool knew = knows(agent);
    isKnown |= knew;
    const std::int32_t pc = pcOf(agent);
    const bool mayRead = model_->reads(agent, pc, cell), mayWrite = model_->writes(agent, pc, cell);
    if (!mayRead && (isSeen || !mayWrite)) continue;
    if (!knew) return false;
    isConcerned = true;
  }
  return isConcerned || isKnown;
}

/// Memory goes to the next block when this one has ended: nothing may still land in it.
void Run::checkEnd() {
  for (const Cell &cell : cells_) {
    const RecordedAccess &write = cell.write;
    if (!write.op || write.end.axis < 0) continue;
    const auto knows = [&](std::int32_t agent) {
      return clock(agent)[write.end.axis] >= write.end.time;
    };
    bool isKnown = false;
    for (std::int32_t agent = 0; agent < agents(); ++agent) isKnown |= knows(agent);
    if (!isKnown && model_->program[write.buffer].space != Space::Registers)
      return find(Diag::ScheduleLeftInFlight, *write.op, describe(write));
  }
}

} // namespace imbrex::schedule::check
