#include "backend/schedule/check/words.h"

#include "backend/schedule/check/run.h"

#include <algorithm>

namespace imbrex::schedule::check {

namespace {

std::string inQuotes(std::string_view name) { return "'" + std::string(name) + "'"; }

} // namespace

std::string describe(const Program &program, const ScheduleOp &op) {
  const ScheduleOpInfo &row = info(op.kind);
  std::string text(row.mnemonic);
  if (row.fields & kQueue) text += " " + inQuotes(program[op.queue].name);
  if (op.kind == ScheduleOpKind::Drain && op.count > 0) text += " to " + toText(op.count);
  if (row.fields & kMeeting) text += " " + inQuotes(program[op.meeting].name);
  if (row.fields & kCursor) text += " " + inQuotes(program[op.cursor].name);
  if (row.fields & kBarrier) text += " " + inQuotes(program[op.barrier].name);
  return text;
}

std::string Run::nameOf(std::int32_t agent) const {
  const Agent &self = model_->agents[static_cast<std::size_t>(agent)];
  const Role &role = model_->program[self.role];
  if (role.warps == 1) return role.name;
  const std::string last = self.warps > 1 ? "-" + toText(self.number + self.warps - 1) : "";
  return role.name + "." + toText(self.number) + last;
}

/// "role 'load' at use 5 of 'A' (slot 1)".
std::string Run::describe(const RecordedAccess &touch) const {
  const Buffer &buffer = model_->program[touch.buffer];
  std::string text =
      "'" + nameOf(touch.agent) + "' by " + check::describe(model_->program, *touch.op);
  text += " at " + inQuotes(buffer.name);
  if (!touch.hasUse) return text + lineOf(*touch.op);
  return text + ", use " + toText(touch.use) + " in slot " +
         toText(slotOfUse(touch.use, model_->program.depthOf(buffer.ring))) + lineOf(*touch.op);
}

/// What keeps two writes apart. The warps of a role do all its operations at once.
std::string Run::hintForWrites(const RecordedAccess &write, const RecordedAccess &other) const {
  std::string wait = "one of the two must wait until the other has ended";
  const Agent &self = model_->agents[static_cast<std::size_t>(write.agent)];
  const bool isOneRole = self.role == model_->agents[static_cast<std::size_t>(other.agent)].role;
  if (!isOneRole || write.agent == other.agent) return wait;
  return wait + ", or each warp of the role write a part of its own: 'parts', as many as there are "
                "warps, behind the bytes of the buffer, and 'own' in the index";
}

std::string Run::lineOf(const ScheduleOp &op) const {
  return op.where.known() ? " (" + toText(op.where) + ")" : "";
}

std::string Run::describeSlot(std::int32_t slot) const {
  const Barrier &barrier = model_->program[model_->barrierOf(slot)];
  std::string text = inQuotes(barrier.name);
  if (barrier.ring.valid()) text += " of slot " + toText(model_->numberOfSlot(slot));
  return text;
}

/// Who waits for what, when nobody can go on.
void Run::reportStuck() {
  std::string who;
  const ScheduleOp *first = nullptr;
  for (std::int32_t agent = 0; agent < agents(); ++agent) {
    const AgentRun &run = agents_[static_cast<std::size_t>(agent)];
    if (run.isDone) continue;
    const RoleId role = model_->agents[static_cast<std::size_t>(agent)].role;
    const ScheduleOp &op = *model_->code[role.index()][static_cast<std::size_t>(run.pc)].op;
    if (!first) first = &op;
    who += (who.empty() ? "" : "; ") + inQuotes(nameOf(agent)) + " in " + describeStuck(agent, op);
  }
  find(Diag::ScheduleDeadlock, *first, who);
}

std::string Run::describeStuck(std::int32_t agent, const ScheduleOp &op) const {
  if (op.kind == ScheduleOpKind::Meet) {
    const MeetingRun &run =
        meetings_[static_cast<std::size_t>(model_->meetingOf[op.meeting.index()])];
    return "meet " + inQuotes(model_->program[op.meeting].name) + lineOf(op) + ", where " +
           toText(run.here) + " of " + toText(model_->program[op.meeting].parties) + " are";
  }
  const std::int32_t slot = model_->slotOf(op.barrier, useOf(agent, op.index));
  const SlotRun &run = slots_[static_cast<std::size_t>(slot)];
  std::string text = "wait " + describeSlot(slot) + lineOf(op) + ", whose phase " +
                     toText(run.phase) + " lacks " + toText(run.missing) + " of " +
                     toText(model_->program[op.barrier].arrivals) + " arrivals";
  if (run.expected != run.landed) text += " and " + toText(run.expected - run.landed) + " bytes";
  return text;
}

/// "tiles = 2, k in tiles 0 = 1, k in tiles 1 >= 3".
std::string Run::describeTrips() const {
  std::string text;
  for (const Instance &instance : trips_.instances()) {
    const Trips &trips = model_->program[instance.trips];
    text += (text.empty() ? "" : ", ") + trips.name;
    for (const std::int32_t around : instance.around) text += "[" + toText(around) + "]";
    text += (instance.isExact ? " = " : " >= ") + toText(instance.count);
  }
  return text;
}

std::vector<Finding> Run::explained(const std::vector<TraceStep> &trace) const {
  const std::vector<std::string> lines =
      linesOf(*model_, trace, [&](std::int32_t agent) { return nameOf(agent); });
  std::vector<Finding> findings = findings_;
  for (Finding &finding : findings) {
    finding.trips = describeTrips();
    finding.trace = lines;
  }
  return findings;
}

} // namespace imbrex::schedule::check
