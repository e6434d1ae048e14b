#include "backend/schedule/program/attributes.h"
#include "backend/schedule/program/program_text.h"
#include "backend/support/lexer.h"

#include <span>

namespace imbrex::schedule {
namespace {

std::string wordOrQuoted(std::string_view text) {
  return isWord(text) ? std::string(text) : quoted(text);
}

std::string written(std::string_view name) { return "%" + wordOrQuoted(name); }

/// ` %name` of what an id names among `all`.
template <class Tag, class T>
std::string reference(Id<Tag> id, const std::vector<T> &all) {
  return id.index() < all.size() ? written(all[id.index()].name) : "%?";
}

/// The attributes that are not what they would be if the text left them out.
template <class T>
std::string attributeText(std::span<const Attribute<T>> attributes, const T &of, const T &blank) {
  std::string text;
  for (const Attribute<T> &attribute : attributes) {
    const auto number = attribute.get(of);
    if (!number || number == attribute.get(blank)) continue;
    text += " " + std::string(attribute.word);
    if (!attribute.isFlag()) text += " " + std::to_string(*number);
  }
  return text;
}

class SchedulePrinter {
public:
  explicit SchedulePrinter(const Program &program) : program_(program) {}

  std::string run() {
    text_ = "schedule @" + wordOrQuoted(program_.name) + " {\n";
    for (const Trips &trips : program_.trips) printTrips(trips);
    for (std::uint32_t i = 0; i < program_.rings.size(); ++i) printRing(RingId(i));
    printContents(RingId(), 1);
    for (const Meeting &meeting : program_.meetings)
      line(1, "meeting " + written(meeting.name) +
                  attributeText<Meeting>(kMeetingAttributes, meeting, {}));
    for (std::uint32_t i = 0; i < program_.roles.size(); ++i) printRole(RoleId(i));
    return std::move(text_) + "}\n";
  }

private:
  void line(std::size_t depth, const std::string &text) {
    text_.append(2 * depth, ' ');
    text_ += text + "\n";
  }

  void printTrips(const Trips &trips) {
    std::string text = "trips " + written(trips.name);
    if (trips.within.valid()) text += " in " + reference(trips.within, program_.trips);
    line(1, text + attributeText<Trips>(kTripsAttributes, trips, {}));
  }

  void printRing(RingId id) {
    const Ring &ring = program_[id];
    line(1, "ring " + written(ring.name) + attributeText<Ring>(kRingAttributes, ring, {}) + " {");
    printContents(id, 2);
    line(1, "}");
  }

  /// The buffers and barriers of a ring, or those of none.
  void printContents(RingId ring, std::size_t depth) {
    for (const Buffer &buffer : program_.buffers)
      if (buffer.ring == ring) line(depth, bufferText(buffer));
    for (const Barrier &barrier : program_.barriers)
      if (barrier.ring == ring)
        line(depth, "barrier " + written(barrier.name) +
                        attributeText<Barrier>(kBarrierAttributes, barrier, {}));
  }

  static std::string bufferText(const Buffer &buffer) {
    std::string text = "buffer " + written(buffer.name) + " " + std::to_string(buffer.bytes);
    if (buffer.space != Buffer().space) text += " " + std::string(wordOf(buffer.space));
    return text + attributeText<Buffer>(kBufferAttributes, buffer, {});
  }

  void printRole(RoleId id) {
    const Role &role = program_[id];
    line(1, "role " + written(role.name) + attributeText<Role>(kRoleAttributes, role, {}) + " {");
    for (const Cursor &cursor : program_.cursors)
      if (cursor.role == id)
        line(2, "cursor " + written(cursor.name) + " in " + reference(cursor.ring, program_.rings));
    for (const Queue &queue : program_.queues)
      if (queue.role == id)
        line(2, "queue " + written(queue.name) + attributeText<Queue>(kQueueAttributes, queue, {}));
    for (const ScheduleOp &op : role.body) printOp(op, 2);
    line(1, "}");
  }

  void printOp(const ScheduleOp &op, std::size_t depth) {
    std::string text(info(op.kind).mnemonic);
    for (const Operand &operand : operandsOf(op.kind)) {
      if (operand.mayLack && !op.barrier.valid()) continue;
      if (!operand.word.empty()) text += " " + std::string(operand.word);
      text += operandText(op, operand.field);
    }
    text +=
        attributeText<ScheduleOp>(attributesOf(op.kind), op, blank(op.kind)) + costText(op.cost);
    line(depth, hasBody(op.kind) ? text + " {" : text);
    for (const ScheduleOp &inner : op.body) printOp(inner, depth + 1);
    if (hasBody(op.kind)) line(depth, "}");
  }

  std::string operandText(const ScheduleOp &op, Fields field) const {
    switch (field) {
    case kAccesses: return accessesText(op.accesses);
    case kBarrier: return " " + reference(op.barrier, program_.barriers) + slotText(op.index, {});
    case kQueue: return " " + reference(op.queue, program_.queues);
    case kMeeting: return " " + reference(op.meeting, program_.meetings);
    case kCursor: return " " + reference(op.cursor, program_.cursors);
    case kLoop: return " " + reference(op.trips, program_.trips);
    case kGuard:
      return " " + std::string(wordOf(op.guard.measure)) + " " +
             reference(op.guard.trips, program_.trips) + " > " + std::to_string(op.guard.than);
    case kNone:
    case kCount:
    case kBytes: break; // attributes
    }
    return "";
  }

  /// ` reads %A(%c), %B(%c) writes %C`, in the order of the accesses.
  std::string accessesText(const std::vector<Access> &accesses) const {
    std::string text;
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      const Access &access = accesses[i];
      if (i > 0 && accesses[i - 1].writes == access.writes)
        text += ",";
      else
        text += access.writes ? " writes" : " reads";
      text += " " + reference(access.buffer, program_.buffers) +
              slotText(access.index, partText(access));
    }
    return text;
  }

  static std::string partText(const Access &access) {
    switch (access.part) {
    case Part::All: return "";
    case Part::Numbered: return "part " + std::to_string(access.number);
    case Part::Own: return "own";
    }
    return "";
  }

  /// `(%c, -1, part 2)`, and nothing where there is nothing to say.
  std::string slotText(Index index, const std::string &part) const {
    std::string text;
    const auto add = [&](const std::string &item) { (text += text.empty() ? "" : ", ") += item; };
    if (index.cursor.valid()) add(reference(index.cursor, program_.cursors));
    if (index.offset != 0) add(std::to_string(index.offset));
    if (!part.empty()) add(part);
    return text.empty() ? "" : "(" + text + ")";
  }

  static std::string costText(const Cost &cost) {
    if (cost == Cost()) return "";
    std::string text = " takes " + std::to_string(cost.cycles);
    if (!cost.resource.empty()) text += " on " + wordOrQuoted(cost.resource);
    return text + attributeText<Cost>({&kCostBusy, 1}, cost, {});
  }

  const Program &program_;
  std::string text_;
};

} // namespace

std::string print(const Program &program) { return SchedulePrinter(program).run(); }

} // namespace imbrex::schedule
