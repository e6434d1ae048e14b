#include "backend/schedule/program/attributes.h"
#include "backend/schedule/program/program_text.h"
#include "backend/schedule/program/word_reader.h"

#include <algorithm>

namespace imbrex::schedule {
namespace {

/// Parses one schedule by recursive descent. What is out of place ends the parse, because what
/// follows it may only be an echo: such a function leaves false behind. A name or a number that
/// cannot be is reported, and the parse goes on to find others, but has no result.
class ScheduleParser : private WordReader {
public:
  using WordReader::WordReader;

  std::optional<Program> run() {
    if (!parseSchedule() || !isSound()) return std::nullopt;
    return std::move(program_);
  }

private:
  static std::string called(std::string_view noun, std::string_view name) {
    return std::string(noun) + " '" + std::string(name) + "'";
  }

  // --- declarations ---

  bool parseSchedule() {
    if (peek().is("kernel")) return error(Diag::ScheduleIsKernel, peek());
    program_.where = place(peek());
    if (!expectWord("schedule") || !expect('@') || !parseScheduleName() || !expect('{'))
      return false;
    while (!accept('}'))
      if (!parseDeclaration()) return false;
    return peek().kind == TokenKind::End || unexpected("the end of the file");
  }

  bool parseScheduleName() {
    if (peek().kind == TokenKind::String) {
      const auto name = takeString("a name");
      program_.name = name.value_or("");
      return name.has_value();
    }
    const auto token = take(TokenKind::Word, "the schedule's name");
    if (token) program_.name = token->text;
    return token.has_value();
  }

  bool parseDeclaration() {
    if (accept("trips")) return parseTrips();
    if (accept("ring")) return parseRing();
    if (accept("meeting")) return parseMeeting();
    if (accept("role")) return parseRole();
    if (peek().is("buffer") || peek().is("barrier")) return parseContent(RingId());
    return unexpected("'trips', 'ring', 'buffer', 'barrier', 'meeting', 'role' or '}'");
  }

  /// The id of what is appended next.
  template <class Tag, class T>
  static Id<Tag> nextId(const std::vector<T> &all) {
    return Id<Tag>(static_cast<std::uint32_t>(all.size()));
  }

  bool parseTrips() {
    Trips trips{.name = {}, .where = place(peek())};
    const auto id = nextId<TripsTag>(program_.trips);
    if (!declare(trips_, id, trips.name)) return false;
    if (accept("in") && !resolve(trips_, trips.within)) return false;
    if (!parseAttributes<Trips>(kTripsAttributes, called("trips", trips.name), trips)) return false;
    program_.trips.push_back(std::move(trips));
    return true;
  }

  bool parseRing() {
    Ring ring;
    const auto id = nextId<RingTag>(program_.rings);
    if (!declare(rings_, id, ring.name) ||
        !parseAttributes<Ring>(kRingAttributes, called("ring", ring.name), ring) ||
        !expectBody<Ring>(kRingAttributes))
      return false;
    program_.rings.push_back(std::move(ring));
    while (!accept('}'))
      if (!parseContent(id)) return false;
    return true;
  }

  bool parseContent(RingId ring) {
    if (accept("buffer")) return parseBuffer(ring);
    if (accept("barrier")) return parseBarrier(ring);
    return unexpected("'buffer', 'barrier' or '}'");
  }

  bool parseBuffer(RingId ring) {
    Buffer buffer{.name = {}, .ring = ring, .where = place(peek())};
    if (!declare(buffers_, nextId<BufferTag>(program_.buffers), buffer.name)) return false;
    const std::string what = called("buffer", buffer.name);
    if (!parseNumber(kBufferBytes, what, buffer)) return false;
    parseSpace(buffer.space);
    if (!parseAttributes<Buffer>(kBufferAttributes, what, buffer)) return false;
    program_.buffers.push_back(std::move(buffer));
    return true;
  }

  void parseSpace(Space &space) {
    const auto *word = std::ranges::find(kSpaceWords, peek().text);
    if (word != kSpaceWords.end() && accept(*word))
      space = static_cast<Space>(word - kSpaceWords.begin());
  }

  bool parseBarrier(RingId ring) {
    Barrier barrier{.name = {}, .ring = ring};
    if (!declare(barriers_, nextId<BarrierTag>(program_.barriers), barrier.name) ||
        !parseAttributes<Barrier>(kBarrierAttributes, called("barrier", barrier.name), barrier))
      return false;
    program_.barriers.push_back(std::move(barrier));
    return true;
  }

  bool parseMeeting() {
    Meeting meeting{.name = {}, .where = place(peek())};
    if (!declare(meetings_, nextId<MeetingTag>(program_.meetings), meeting.name) ||
        !parseAttributes<Meeting>(kMeetingAttributes, called("meeting", meeting.name), meeting))
      return false;
    program_.meetings.push_back(std::move(meeting));
    return true;
  }

  // --- roles ---

  bool parseRole() {
    Role role;
    const auto id = nextId<RoleTag>(program_.roles);
    if (!declare(roles_, id, role.name) ||
        !parseAttributes<Role>(kRoleAttributes, called("role", role.name), role) ||
        !expectBody<Role>(kRoleAttributes))
      return false;
    cursors_.declared.clear();
    queues_.declared.clear();
    while (peek().is("cursor") || peek().is("queue"))
      if (accept("cursor") ? !parseCursor(id) : !parseQueue(id)) return false;
    if (!parseOps(role.body, 1)) return false;
    program_.roles.push_back(std::move(role));
    return true;
  }

  bool parseCursor(RoleId role) {
    Cursor cursor{.name = {}, .role = role, .ring = {}};
    if (!declare(cursors_, nextId<CursorTag>(program_.cursors), cursor.name) || !expectWord("in") ||
        !resolve(rings_, cursor.ring))
      return false;
    program_.cursors.push_back(std::move(cursor));
    return true;
  }

  bool parseQueue(RoleId role) {
    lexer().take();
    Queue queue{.name = {}, .role = role};
    if (!declare(queues_, nextId<QueueTag>(program_.queues), queue.name) ||
        !parseAttributes<Queue>(kQueueAttributes, called("queue", queue.name), queue))
      return false;
    program_.queues.push_back(std::move(queue));
    return true;
  }

  // --- operations ---

  /// The operations of a body whose `{` has been read, and its `}`.
  bool parseOps(std::vector<ScheduleOp> &body, std::int32_t depth) {
    if (depth > kDeepestBody) return error(Diag::TextTooDeep, peek(), kDeepestBody);
    while (!accept('}'))
      if (!parseOp(body, depth)) return false;
    return true;
  }

  bool parseOp(std::vector<ScheduleOp> &body, std::int32_t depth) {
    const auto mnemonic = take(TokenKind::Word, "an op or '}'");
    if (!mnemonic) return false;
    const auto row = std::ranges::find(kOps, mnemonic->text, &ScheduleOpInfo::mnemonic);
    if (row == kOps.end()) return reportUnknownOp(*mnemonic);
    const auto kind = static_cast<ScheduleOpKind>(row - kOps.begin());
    ScheduleOp &op = body.emplace_back(blank(kind));
    op.where = place(*mnemonic);
    for (const Operand &operand : operandsOf(kind)) {
      if (operand.mayLack && !peek().is(operand.word)) continue;
      if ((!operand.word.empty() && !expectWord(operand.word)) || !parseOperand(op, operand.field))
        return false;
    }
    const auto attributes = attributesOf(kind);
    if (!parseAttributes<ScheduleOp>(attributes, shown(*mnemonic), op) ||
        !parseCost(op.cost, shown(*mnemonic)))
      return false;
    return !hasBody(kind) || (expectBody<ScheduleOp>(attributes) && parseOps(op.body, depth + 1));
  }

  bool reportUnknownOp(const Token &token) {
    std::vector<std::string_view> names;
    for (const ScheduleOpInfo &row : kOps) names.push_back(row.mnemonic);
    const bool isLate = token.is("cursor") || token.is("queue");
    return error(Diag::TextUnknownOp, token, shown(token),
                 isLate ? "cursors and queues are declared where a role begins"
                        : suggestion(token.text, names, "docs/schedule-text.md lists the ops"));
  }

  bool parseOperand(ScheduleOp &op, Fields field) {
    switch (field) {
    case kAccesses: return parseAccesses(op.accesses);
    case kBarrier: return resolve(barriers_, op.barrier) && parseSlot(op.index, nullptr);
    case kQueue: return resolve(queues_, op.queue);
    case kMeeting: return resolve(meetings_, op.meeting);
    case kCursor: return resolve(cursors_, op.cursor);
    case kLoop: return resolve(trips_, op.trips);
    case kGuard: return parseGuard(op.guard);
    case kNone:
    case kCount:
    case kBytes: break; // attributes
    }
    return true;
  }

  bool parseAccesses(std::vector<Access> &accesses) {
    while (peek().is("reads") || peek().is("writes")) {
      const bool writes = lexer().take().is("writes");
      do {
        Access &access = accesses.emplace_back();
        access.writes = writes;
        if (!resolve(buffers_, access.buffer) || !parseSlot(access.index, &access)) return false;
      } while (accept(','));
    }
    return true;
  }

  /// `(%c, -1, part 2)`, of which each item may be missing; parts are those of `access`.
  bool parseSlot(Index &index, Access *access) {
    if (!accept('(')) return true;
    bool goesOn = true;
    if (peek().kind == TokenKind::Value) {
      if (!resolve(cursors_, index.cursor)) return false;
      goesOn = accept(',');
      if (goesOn && peek().kind == TokenKind::Number) {
        if (!parseNumber(kIndexOffset, "an index", index)) return false;
        goesOn = access && accept(',');
      }
    }
    if (!goesOn) return expect(')');
    if (!access) return unexpected(index.cursor.valid() ? "an offset" : "a cursor");
    return parsePart(*access) && expect(')');
  }

  bool parsePart(Access &access) {
    if (accept("own")) {
      access.part = Part::Own;
      return true;
    }
    if (!accept("part")) return unexpected("a cursor, an offset, 'part' or 'own'");
    access.part = Part::Numbered;
    return parseNumber(kPartNumber, "a buffer", access);
  }

  bool parseGuard(Guard &guard) {
    const auto *word = std::ranges::find(kMeasureWords, peek().text);
    if (word == kMeasureWords.end() || peek().kind != TokenKind::Word)
      return unexpected(alternatives(kMeasureWords));
    lexer().take();
    guard.measure = static_cast<Guard::Measure>(word - kMeasureWords.begin());
    return resolve(trips_, guard.trips) && expect('>') &&
           parseNumber(kGuardThan, "a condition", guard);
  }

  bool parseCost(Cost &cost, std::string_view what) {
    if (!accept(kCostCycles.word)) return true;
    if (!parseNumber(kCostCycles, what, cost)) return false;
    if (accept("on")) {
      const bool isQuoted = peek().kind == TokenKind::String;
      const auto quoted = isQuoted ? takeString("a resource") : std::nullopt;
      const auto word = isQuoted ? std::nullopt : take(TokenKind::Word, "a resource");
      if (!quoted && !word) return false;
      cost.resource = quoted ? *quoted : std::string(word->text);
    }
    return !accept(kCostBusy.word) || parseNumber(kCostBusy, what, cost);
  }

  Program program_;
  Names<TripsTag> trips_{"count of trips", "counts of trips"};
  Names<RingTag> rings_{"ring", "rings"};
  Names<BufferTag> buffers_{"buffer", "buffers"};
  Names<BarrierTag> barriers_{"barrier", "barriers"};
  Names<MeetingTag> meetings_{"meeting", "meetings"};
  Names<RoleTag> roles_{"role", "roles"};
  Names<CursorTag> cursors_{"cursor", "cursors"}; ///< Of the role that is being read.
  Names<QueueTag> queues_{"queue", "queues"};
};

} // namespace

std::optional<Program> parse(std::string_view text, std::string_view fileName,
                             Diagnostics &diagnostics) {
  return ScheduleParser(text, fileName, diagnostics).run();
}

} // namespace imbrex::schedule
