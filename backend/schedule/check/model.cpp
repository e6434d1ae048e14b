#include "backend/schedule/check/model.h"

#include "backend/schedule/attributes.h"
#include "backend/schedule/channels.h"

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

Model::Model(const Program &given)
    : program(given), isMade(given.barriers.size()), deepest(given.queues.size()),
      lowest(given.cursors.size()), resets(given.rings.size()), largest(given.trips.size(), -1),
      usesTrips(given.roles.size()), loopsOver(given.roles.size()) {
  for (std::uint32_t r = 0; r < program.roles.size(); ++r) {
    usesTrips[r].resize(program.trips.size());
    loopsOver[r].resize(program.trips.size());
    study(program.roles[r].body, RoleId(r));
    flatten(program.roles[r].body, code.emplace_back());
    code.back().push_back({.control = Control::End, .op = nullptr});
  }
  placeAgents();
  placeBarriers();
  placeMemory();
  placeVisits();
}

std::int32_t Model::slotOf(BarrierId barrier, std::int64_t use) const {
  return firstSlot_[barrier.index()] + slotOfUse(use, program.depthOf(program[barrier].ring));
}

CellRange Model::cellsOf(const Access &access, std::int64_t use, std::int32_t agent) const {
  const Buffer &buffer = program[access.buffer];
  const std::int32_t depth = program.depthOf(buffer.ring);
  const std::int32_t copy = buffer.space == Space::Registers ? agent : 0;
  const std::int32_t first = (copy * depth + slotOfUse(use, depth)) * buffer.parts;
  const auto part = [&](std::int32_t number) {
    return parts_[access.buffer.index()][static_cast<std::size_t>(first + number)];
  };
  if (access.part == Part::Numbered) return part(access.number);
  const auto upTo = [&](std::int32_t from, std::int32_t to) {
    return CellRange{part(from).first, part(to).first + part(to).count - part(from).first};
  };
  if (access.part == Part::All) return upTo(0, buffer.parts - 1);
  const Agent &self = agents[static_cast<std::size_t>(agent)];
  return upTo(self.number, self.number + self.warps - 1);
}

void Model::flatten(const std::vector<Op> &body, std::vector<Instruction> &out) const {
  const auto here = [&] { return static_cast<std::int32_t>(out.size()); };
  for (const Op &op : body) {
    if (!hasBody(op.kind)) {
      out.push_back({.control = Control::Do, .op = &op});
      continue;
    }
    const bool loops = op.kind == OpKind::For;
    if (loops) out.push_back({.control = Control::Enter, .op = &op});
    const std::int32_t test = here();
    out.push_back({.control = loops ? Control::Test : Control::Guard, .op = &op});
    flatten(op.body, out);
    if (loops) out.push_back({.control = Control::Back, .op = &op, .jump = test});
    out[static_cast<std::size_t>(test)].jump = here();
  }
}

/// Collects what the state of a run must tell apart.
void Model::study(const std::vector<Op> &body, RoleId role) {
  for (const Op &op : body) {
    const std::uint16_t fields = info(op.kind).fields;
    const auto lower = [&](const Index &index) {
      if (!index.cursor.valid()) return;
      std::int32_t &least = lowest[index.cursor.index()];
      least = std::min(least, index.offset);
    };
    for (const Access &access : op.accesses) lower(access.index);
    if (fields & kBarrier) lower(op.index);
    if (op.kind == OpKind::Init) isMade[op.barrier.index()] = true;
    if (op.kind == OpKind::Reset) resets[program[op.cursor].ring.index()] = true;
    hasProxies |= program.isAsync(op);
    if (op.kind == OpKind::Drain)
      deepest[op.queue.index()] = std::max(deepest[op.queue.index()], op.count);
    if (fields & kGuard) {
      usesTrips[role.index()][op.guard.trips.index()] = true;
      std::int32_t &most = largest[op.guard.trips.index()];
      if (op.guard.measure != Guard::Measure::Left) most = std::max(most, op.guard.than);
    }
    if (fields & kLoop) {
      usesTrips[role.index()][op.trips.index()] = true;
      loopsOver[role.index()][op.trips.index()] = true;
    }
    study(op.body, role);
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
struct Piece {
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
    std::vector<std::vector<Piece>> pieces(program.buffers.size());
    std::set<std::int64_t> borders;
    std::int64_t end = 0;
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
      const Buffer &buffer = program.buffers[b];
      if (buffer.space != space) continue;
      const std::int64_t base = addresses.place(buffer, wholeBytes(buffer));
      for (std::int32_t slot = 0; slot < program.depthOf(buffer.ring); ++slot)
        for (std::int64_t part = 0; part < buffer.parts; ++part) {
          const std::int64_t at = base + slot * bytesOf(buffer);
          const Piece piece = {at + part * bytesOf(buffer) / buffer.parts,
                               at + (part + 1) * bytesOf(buffer) / buffer.parts};
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
        for (const Piece &piece : pieces[b])
          parts_[b].push_back(
              {cells + copy * each + cellAt(piece.begin), cellAt(piece.end) - cellAt(piece.begin)});
    cells += static_cast<std::int32_t>(copies) * each;
  }
}

void Model::placeVisits() {
  visits_.assign(agents.size(), std::vector<bool>(static_cast<std::size_t>(cells)));
  for (std::int32_t agent = 0; agent < static_cast<std::int32_t>(agents.size()); ++agent) {
    const RoleId role = agents[static_cast<std::size_t>(agent)].role;
    std::set<BufferId> buffers;
    forEachOp(program[role].body, [&](const Op &op) {
      for (const Access &access : op.accesses) buffers.insert(access.buffer);
    });
    for (const BufferId buffer : buffers)
      for (std::int32_t slot = 0; slot < program.depthOf(program[buffer].ring); ++slot) {
        const CellRange range = cellsOf({.buffer = buffer}, slot, agent);
        std::fill_n(visits_[static_cast<std::size_t>(agent)].begin() + range.first, range.count,
                    true);
      }
  }
}

} // namespace imbrex::schedule::check
