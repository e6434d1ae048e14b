#include "backend/schedule/check/model.h"

#include "backend/schedule/program/attributes.h"
#include "backend/schedule/program/channels.h"

#include <algorithm>
#include <map>
#include <set>

namespace imbrex::schedule::check {

std::int32_t slotOfUse(std::int64_t use, std::int32_t depth) {
  const std::int64_t rest = use % depth;
  return static_cast<std::int32_t>(rest < 0 ? rest + depth : rest);
}

std::int64_t roundOfUse(std::int64_t use, std::int32_t depth) {
  return (use - slotOfUse(use, depth)) / depth;
}

Model::Model(const Program &given, Purpose purpose)
    : program(given), isMade(given.barriers.size()), deepest(given.queues.size()),
      lowest(given.cursors.size()), resets(given.rings.size()), hasParts(given.buffers.size()),
      mostCount(given.trips.size(), -1), mostDone(mostCount), asks(given.roles.size()) {
  tripsIn.resize(program.trips.size());
  for (std::uint32_t t = 0; t < program.trips.size(); ++t)
    for (TripsId outer = program.trips[t].within; outer.valid(); outer = program[outer].within)
      tripsIn[outer.index()].emplace_back(t);
  for (std::uint32_t r = 0; r < program.roles.size(); ++r) {
    asks[r].resize(program.trips.size());
    study(program.roles[r].body);
    code.emplace_back();
    std::vector<TripsId> around;
    flatten(program.roles[r].body, RoleId(r), around);
    code.back().push_back({.control = Control::End, .op = nullptr});
  }
  findCommonTrips();
  placeAgents();
  placeBarriers();
  if (purpose == Purpose::Timing) return;
  placeMemory();
  placeVisits();
  placeClaims();
}

void Model::findCommonTrips() {
  const auto isWalked = [](const LastTripUses &uses) { return uses.forLoop >= 0; };
  isOfAll.assign(program.trips.size(), true);
  for (const std::vector<LastTripUses> &ofRole : asks) {
    if (!std::ranges::any_of(ofRole, isWalked)) continue;
    for (std::size_t trips = 0; trips < ofRole.size(); ++trips)
      isOfAll[trips] = isOfAll[trips] && isWalked(ofRole[trips]);
  }
}

std::int32_t Model::slotOf(BarrierId barrier, std::int64_t use) const {
  return firstSlot_[barrier.index()] + slotOfUse(use, program.depthOf(program[barrier].ring));
}

CellRange Model::cellsOf(const Access &access, std::int64_t use, std::int32_t agent) const {
  const Buffer &buffer = program[access.buffer];
  const std::int32_t depth = program.depthOf(buffer.ring), parts = partsOf(access.buffer);
  const std::int32_t copy = buffer.space == Space::Registers ? agent : 0;
  const std::int32_t first = (copy * depth + slotOfUse(use, depth)) * parts;
  const auto part = [&](std::int32_t number) {
    return parts_[access.buffer.index()][static_cast<std::size_t>(first + number)];
  };
  if (access.part == Part::Numbered) return part(access.number);
  const auto upTo = [&](std::int32_t from, std::int32_t to) {
    return CellRange{part(from).first, part(to).first + part(to).count - part(from).first};
  };
  if (access.part == Part::All) return upTo(0, parts - 1);
  const Agent &self = agents[static_cast<std::size_t>(agent)];
  return upTo(self.number, self.number + self.warps - 1);
}

LastTripUses &Model::asksFor(RoleId role, TripsId trips, const std::vector<TripsId> &around) {
  std::vector<TripsId> within;
  for (TripsId outer = program[trips].within; outer.valid(); outer = program[outer].within)
    within.push_back(outer);
  LastTripUses &here = asks[role.index()][trips.index()];
  here.isRepeated |= !std::ranges::all_of(around, [&](TripsId outer) {
    return outer == trips || std::ranges::find(within, outer) != within.end();
  });
  return here;
}

void Model::flatten(const std::vector<ScheduleOp> &body, RoleId role,
                    std::vector<TripsId> &around) {
  std::vector<Instruction> &out = code[role.index()];
  const auto here = [&] { return static_cast<std::int32_t>(out.size()); };
  for (const ScheduleOp &op : body) {
    if (!hasBody(op.kind)) {
      out.push_back({.control = Control::Do, .op = &op});
      continue;
    }
    const bool loops = op.kind == ScheduleOpKind::For;
    const TripsId trips = loops ? op.trips : op.guard.trips;
    LastTripUses &last = asksFor(role, trips, around);
    if (loops) {
      last.forLoop = here();
      around.push_back(trips);
      out.push_back({.control = Control::Enter, .op = &op});
    }
    const std::int32_t test = here();
    out.push_back({.control = loops ? Control::Test : Control::Guard, .op = &op});
    flatten(op.body, role, around);
    if (loops) around.pop_back();
    if (loops) out.push_back({.control = Control::Back, .op = &op, .jump = test});
    out[static_cast<std::size_t>(test)].jump = here();
    const std::int32_t end = here() - 1;
    // A condition's own body may have asked already, and further on.
    const auto lastOf = [&](std::int32_t before) { return loops ? end : std::max(before, test); };
    last.forAny = lastOf(last.forAny);
    const bool isForCount = !loops && op.guard.measure == Guard::Measure::Count;
    if (loops ? last.forCount > test : isForCount) last.forCount = lastOf(last.forCount);
  }
}

/// Collects what the state of a run must tell apart.
void Model::study(const std::vector<ScheduleOp> &body) {
  for (const ScheduleOp &op : body) {
    const std::uint16_t fields = info(op.kind).fields;
    const auto lower = [&](const Index &index) {
      if (!index.cursor.valid()) return;
      std::int32_t &least = lowest[index.cursor.index()];
      least = std::min(least, index.offset);
    };
    for (const Access &access : op.accesses) {
      lower(access.index);
      if (access.part != Part::All) hasParts[access.buffer.index()] = true;
    }
    if (op.kind == ScheduleOpKind::Init) isMade[op.barrier.index()] = true;
    if (op.kind == ScheduleOpKind::Reset) resets[program[op.cursor].ring.index()] = true;
    hasProxies |= program.isAsync(op);
    if (op.kind == ScheduleOpKind::Drain)
      deepest[op.queue.index()] = std::max(deepest[op.queue.index()], op.count);
    if ((fields & kGuard) && op.guard.measure != Guard::Measure::Left) {
      auto &mosts = op.guard.measure == Guard::Measure::Count ? mostCount : mostDone;
      std::int32_t &most = mosts[op.guard.trips.index()];
      most = std::max(most, op.guard.than);
    }
    study(op.body);
  }
}

void Model::placeAgents() {
  std::vector<std::int32_t> ofRole(program.roles.size());
  for (const Queue &queue : program.queues) queuePlace_.push_back(ofRole[queue.role.index()]++);
  for (std::uint32_t r = 0; r < program.roles.size(); ++r) {
    const std::int32_t warps = program.roles[r].warps;
    const std::int32_t apart = std::min(warps, 2);
    for (std::int32_t number = 0; number < apart; ++number)
      agents.push_back(
          {.role = RoleId(r), .number = number, .warps = number + 1 < apart ? 1 : warps - number});
  }
  std::int32_t axis = static_cast<std::int32_t>(agents.size());
  for (const Agent &agent : agents) {
    queueAxes_.push_back(axis);
    axis += ofRole[agent.role.index()];
  }
  firstSlotAxis_ = axis;
}

void Model::placeBarriers() {
  for (std::uint32_t b = 0; b < program.barriers.size(); ++b) {
    firstSlot_.push_back(slots);
    const std::int32_t depth = program.depthOf(program.barriers[b].ring);
    slots += depth;
    slotBarrier_.insert(slotBarrier_.end(), static_cast<std::size_t>(depth), BarrierId(b));
  }
  std::map<std::int32_t, std::int32_t> numbers;
  for (const Meeting &meeting : program.meetings)
    meetingOf.push_back(
        numbers.try_emplace(meeting.number, static_cast<std::int32_t>(numbers.size()))
            .first->second);
  meetingNumbers = static_cast<std::int32_t>(numbers.size());
  axes = firstSlotAxis_ + slots + meetingNumbers;
}

namespace {

/// One part of one slot, in the address space of its kind of memory.
struct ByteRange {
  std::int64_t begin, end;
};

/// A space's bytes: buffers that say where they lie, and the others behind them.
class AddressSpace {
public:
  std::int64_t place(const Buffer &buffer, std::int64_t bytes) {
    if (buffer.offset) return *buffer.offset;
    const std::int64_t at = end_;
    end_ += bytes;
    return at;
  }
  void reserve(std::int64_t end) { end_ = std::max(end_, end); }

private:
  std::int64_t end_ = 0;
};

/// Of a slot; a buffer whose size is not said still has its parts.
std::int64_t bytesOf(const Buffer &buffer) {
  return std::max<std::int64_t>(buffer.bytes, buffer.parts);
}

} // namespace

/// Cuts each space at every border of a part, so that a part is a range of cells.
void Model::placeMemory() {
  parts_.resize(program.buffers.size());
  for (const Space space : {Space::Shared, Space::Tensor, Space::Registers}) {
    const auto copies =
        space == Space::Registers ? static_cast<std::int64_t>(agents.size()) : std::int64_t{1};
    AddressSpace addresses;
    const auto wholeBytes = [&](const Buffer &b) { return bytesOf(b) * program.depthOf(b.ring); };
    for (const Buffer &b : program.buffers)
      if (b.space == space && b.offset) addresses.reserve(*b.offset + wholeBytes(b));
    std::vector<std::vector<ByteRange>> pieces(program.buffers.size());
    std::set<std::int64_t> borders;
    std::int64_t end = 0;
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
      const Buffer &buffer = program.buffers[b];
      if (buffer.space != space) continue;
      const std::int64_t base = addresses.place(buffer, wholeBytes(buffer));
      const std::int64_t parts = partsOf(BufferId(static_cast<std::uint32_t>(b)));
      for (std::int32_t slot = 0; slot < program.depthOf(buffer.ring); ++slot)
        for (std::int64_t part = 0; part < parts; ++part) {
          const std::int64_t at = base + slot * bytesOf(buffer);
          const ByteRange piece = {at + part * bytesOf(buffer) / parts,
                                   at + (part + 1) * bytesOf(buffer) / parts};
          pieces[b].push_back(piece);
          borders.insert({piece.begin, piece.end});
          end = std::max(end, piece.end);
        }
    }
    const std::vector<std::int64_t> cuts(borders.begin(), borders.end());
    const auto cellAt = [&](std::int64_t address) {
      return static_cast<std::int32_t>(std::ranges::lower_bound(cuts, address) - cuts.begin());
    };
    const auto each = static_cast<std::int32_t>(cuts.size());
    for (std::int32_t copy = 0; copy < copies; ++copy)
      for (std::size_t b = 0; b < pieces.size(); ++b)
        for (const ByteRange &piece : pieces[b])
          parts_[b].push_back(
              {cells + copy * each + cellAt(piece.begin), cellAt(piece.end) - cellAt(piece.begin)});
    cells += static_cast<std::int32_t>(copies) * each;
  }
}

void Model::placeVisits() {
  visits_.resize(agents.size() * static_cast<std::size_t>(cells));
  uses_.resize(agents.size() * program.barriers.size());
  for (std::int32_t agent = 0; agent < static_cast<std::int32_t>(agents.size()); ++agent) {
    const auto &body = code[agents[static_cast<std::size_t>(agent)].role.index()];
    std::int32_t until = -1; // the end of the outermost loop around
    for (std::int32_t pc = static_cast<std::int32_t>(body.size()) - 1; pc >= 0; --pc) {
      const Instruction &instruction = body[static_cast<std::size_t>(pc)];
      if (instruction.control == Control::Back && until < 0) until = pc;
      if (instruction.control == Control::Do) visit(agent, *instruction.op, until < 0 ? pc : until);
      const bool begins = instruction.control == Control::Enter;
      if (begins && body[static_cast<std::size_t>(until)].jump == pc + 1) until = -1;
    }
  }
}

void Model::visit(std::int32_t agent, const ScheduleOp &op, std::int32_t until) {
  const auto reach = [&](std::int32_t &last) { last = std::max(last, until); };
  const bool isOfBarrier = (info(op.kind).fields & kBarrier) != 0;
  if (isOfBarrier && op.kind != ScheduleOpKind::Init) {
    Uses &use =
        uses_[static_cast<std::size_t>(agent) * program.barriers.size() + op.barrier.index()];
    if (op.kind == ScheduleOpKind::Wait) use.awaits = &op;
    reach(op.kind == ScheduleOpKind::Wait ? use.awaitsUntil : use.endsUntil);
  }
  for (const Access &access : op.accesses)
    for (std::int32_t slot = 0; slot < program.depthOf(program[access.buffer].ring); ++slot) {
      const CellRange range = cellsOf(access, slot, agent);
      for (std::int32_t cell = range.first; cell < range.first + range.count; ++cell) {
        Visits &visits = visits_[static_cast<std::size_t>(agent * cells + cell)];
        reach(access.writes ? visits.writesUntil : visits.readsUntil);
        if (access.writes || op.kind != ScheduleOpKind::Access) continue;
        visits.readsItself = &op;
        visits.buffer = access.buffer;
      }
    }
}

std::int32_t Model::addClaim(const Claim &claim) {
  claims.push_back(claim);
  return static_cast<std::int32_t>(claims.size()) - 1;
}

void Model::placeClaims() {
  cellClaims_.resize(static_cast<std::size_t>(cells));
  slotClaims_.resize(static_cast<std::size_t>(slots));
  for (std::int32_t agent = 0; agent < static_cast<std::int32_t>(agents.size()); ++agent) {
    for (std::int32_t cell = 0; cell < cells; ++cell)
      if (const Visits &made = visits(agent, cell); made.readsItself)
        cellClaims_[static_cast<std::size_t>(cell)].push_back(
            addClaim({agent, made.readsItself, cell, made.buffer}));
    for (std::int32_t slot = 0; slot < slots; ++slot)
      if (const ScheduleOp *op = at(agent, barrierOf(slot)).awaits)
        slotClaims_[static_cast<std::size_t>(slot)].push_back(addClaim({agent, op, slot}));
  }
  firstClaimAxis_ = axes * (hasProxies ? 2 : 1);
  width = firstClaimAxis_ + static_cast<std::int32_t>(claims.size());
}

std::int32_t Model::claimOf(std::int32_t agent, const std::vector<std::int32_t> &of) const {
  return *std::ranges::find(
      of, agent, [&](std::int32_t claim) { return claims[static_cast<std::size_t>(claim)].agent; });
}

} // namespace imbrex::schedule::check
