#include "backend/schedule/check/model.h"
#include "backend/schedule/program/channels.h"
#include "backend/schedule/timeline/labels.h"
#include "backend/schedule/timeline/timeline_pictures.h"
#include "llvm/Support/JSON.h"

#include <algorithm>

namespace imbrex::schedule {

using namespace timeline;

namespace {

/// Viewers refuse longer texts: mermaid's maxTextSize is 50,000 characters unless they say
/// otherwise (mermaid's configuration schema). The rest is for the note that says so.
constexpr std::size_t kMostText = 49'000;
/// With more slots than this a barrier is one participant.
constexpr std::int32_t kMostShownSlots = 8;

/// A name within a line: what ends a statement is given by its number.
std::string escapedName(const std::string &name) {
  std::string text;
  for (const char c : llvm::json::fixUTF8(name))
    if (c == '#' || c == ';' || c == ':')
      text += "#" + std::to_string(static_cast<int>(c)) + ";";
    else
      text += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  return text;
}

class SequenceWriter {
public:
  SequenceWriter(const Program &program, const Timeline &timeline)
      : program_(program), line_(timeline) {}

  std::string run() {
    text_ = "sequenceDiagram\n";
    participants();
    std::size_t shown = 0;
    while (shown < line_.spans.size() && text_.size() < kMostText) message(line_.spans[shown++]);
    const bool isCut = shown < line_.spans.size();
    if (isCut || !line_.isWhole)
      note("the diagram ends here, at cycle " +
           std::to_string(isCut ? line_.spans[shown].start : line_.spans.back().end) + " of " +
           std::to_string(line_.cycles));
    return std::move(text_);
  }

private:
  /// A barrier stands behind the role that fills its ring, or that first comes to it.
  RoleId homeOf(BarrierId barrier) const {
    const RingId ring = program_[barrier].ring;
    RoleId home;
    const auto lookFor = [&](const auto &isIt) {
      for (std::uint32_t role = 0; role < program_.roles.size() && !home.valid(); ++role)
        forEachOp(program_.roles[role].body, [&](const ScheduleOp &op) {
          if (isIt(op)) home = RoleId(role);
        });
    };
    lookFor([&](const ScheduleOp &op) {
      return ring.valid() && std::ranges::any_of(op.accesses, [&](const Access &access) {
               return access.writes && program_[access.buffer].ring == ring;
             });
    });
    lookFor([&](const ScheduleOp &op) {
      return (info(op.kind).fields & kBarrier) != 0 && op.barrier == barrier;
    });
    return home;
  }

  std::int32_t slotsOf(BarrierId barrier) const {
    const std::int32_t depth = program_.depthOf(program_[barrier].ring);
    return depth > kMostShownSlots ? 1 : depth;
  }

  std::string idOf(BarrierId barrier, std::int32_t slot) const {
    return "B" + std::to_string(barrier.index()) + "_" + std::to_string(slot);
  }
  static std::string idOf(RoleId role) { return "R" + std::to_string(role.index()); }

  void participants() {
    std::vector<RoleId> homes;
    for (std::uint32_t b = 0; b < program_.barriers.size(); ++b)
      homes.push_back(homeOf(BarrierId(b)));
    for (std::uint32_t role = 0; role < program_.roles.size(); ++role) {
      participant(idOf(RoleId(role)), program_.roles[role].name);
      std::int32_t slots = 0;
      for (std::uint32_t b = 0; b < homes.size(); ++b)
        if (homes[b] == RoleId(role)) slots = std::max(slots, slotsOf(BarrierId(b)));
      for (std::int32_t slot = 0; slot < slots; ++slot)
        for (std::uint32_t b = 0; b < homes.size(); ++b)
          if (homes[b] == RoleId(role) && slot < slotsOf(BarrierId(b)))
            participant(idOf(BarrierId(b), slot), nameOf(BarrierId(b), slot));
    }
  }

  /// The word that ends blocks stands in parentheses (mermaid's page on sequence diagrams).
  void participant(const std::string &id, const std::string &name) {
    const std::string shown = name == "end" ? "(end)" : escapedName(name);
    text_ += "    participant " + id + " as " + shown + "\n";
  }

  std::string nameOf(BarrierId barrier, std::int32_t slot) const {
    const std::string &name = program_[barrier].name;
    return slotsOf(barrier) == 1 ? name : name + " " + std::to_string(slot);
  }

  std::string idOfSlot(const TimelineSpan &span) const {
    const BarrierId barrier = span.op->barrier;
    const std::int32_t slots = slotsOf(barrier);
    return idOf(barrier, slots == 1 ? 0 : check::slotOfUse(span.use, slots));
  }

  void message(const TimelineSpan &span) {
    const std::string role = idOf(span.role);
    const bool isResource = span.kind == TimelineSpan::Kind::Wait && span.resource != kNoResource;
    if (isResource) return;
    switch (span.op->kind) {
    case ScheduleOpKind::Wait:
      if (span.kind == TimelineSpan::Kind::Wait) arrow(idOfSlot(span), "->>", role, span);
      return;
    case ScheduleOpKind::Arrive:
    case ScheduleOpKind::Expect:
      if (span.kind == TimelineSpan::Kind::Instant) arrow(role, "->>", idOfSlot(span), span);
      return;
    case ScheduleOpKind::Copy: return arrow(role, "-)", idOfSlot(span), span);
    case ScheduleOpKind::Signal:
      if (span.kind == TimelineSpan::Kind::Instant) arrow(role, "-)", idOfSlot(span), span);
      return;
    case ScheduleOpKind::Access:
    case ScheduleOpKind::Issue:
    case ScheduleOpKind::Commit:
    case ScheduleOpKind::Drain:
    case ScheduleOpKind::Meet:
    case ScheduleOpKind::Fence:
    case ScheduleOpKind::Init:
      if (span.kind != TimelineSpan::Kind::Work || span.op->kind == ScheduleOpKind::Access)
        arrow(role, "->>", role, span);
      return;
    case ScheduleOpKind::Advance:
    case ScheduleOpKind::Reset:
    case ScheduleOpKind::For:
    case ScheduleOpKind::If: return;
    }
  }

  void arrow(const std::string &from, std::string_view arrow, const std::string &to,
             const TimelineSpan &span) {
    const ScheduleOp &op = *span.op;
    std::string text = labelOf(program_, span);
    if (op.kind == ScheduleOpKind::Expect || op.kind == ScheduleOpKind::Copy)
      text += " (" + std::to_string(op.bytes) + " bytes)";
    if (op.kind == ScheduleOpKind::Signal) text += " when " + program_[op.queue].name + " is done";
    if (span.kind == TimelineSpan::Kind::Wait && span.cycles() > 0)
      text += ", " + std::to_string(span.cycles()) + " cycles";
    text_ += "    " + from + std::string(arrow) + to + ": " + escapedName(text) + "\n";
  }

  void note(const std::string &text) {
    const std::string last = idOf(RoleId(static_cast<std::uint32_t>(program_.roles.size() - 1)));
    const std::string over = program_.roles.size() == 1 ? last : "R0," + last;
    text_ += "    Note over " + over + ": " + text + "\n";
  }

  const Program &program_;
  const Timeline &line_;
  std::string text_;
};

} // namespace

std::string mermaidOf(const Program &program, const Timeline &timeline) {
  return SequenceWriter(program, timeline).run();
}

} // namespace imbrex::schedule
