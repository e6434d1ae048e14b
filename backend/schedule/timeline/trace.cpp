#include "backend/schedule/timeline/labels.h"
#include "backend/schedule/timeline/timeline_pictures.h"
#include "llvm/Support/JSON.h"

#include <array>

namespace imbrex::schedule {

using namespace timeline;

namespace {

/// Groups of tracks.
enum Group : std::int32_t { kRoles = 1, kResources, kInFlight };
constexpr std::array<std::string_view, 3> kGroupNames = {"roles", "resources", "in flight"};

/// A span's track, where the arrows end.
struct Track {
  Group group;
  std::int32_t number;
};

class TraceEventWriter {
public:
  TraceEventWriter(const Program &program, const Timeline &timeline)
      : program_(program), line_(timeline) {}

  std::string run() {
    json_.object([&] {
      json_.attribute("displayTimeUnit", "ns");
      json_.attributeObject("otherData", [&] {
        json_.attribute("schedule", clean(program_.name));
        json_.attribute("unit", "1 us is 1 cycle");
        json_.attribute("limit", clean(limitOf(program_, line_)));
        if (!line_.isWhole)
          json_.attribute("shown", "the first " + std::to_string(line_.spans.size()) +
                                       " spans, of " + std::to_string(line_.cycles) + " cycles");
      });
      json_.attributeArray("traceEvents", [&] {
        slices();
        arrows();
        names();
      });
    });
    out_ << "\n";
    return std::move(result_);
  }

private:
  static std::string clean(const std::string &text) { return llvm::json::fixUTF8(text); }

  void slices() {
    std::vector<Tracks> lanes(program_.roles.size());
    laneOf_.resize(line_.spans.size());
    for (std::size_t i = 0; i < line_.spans.size(); ++i) {
      const TimelineSpan &span = line_.spans[i];
      switch (span.kind) {
      case TimelineSpan::Kind::Work:
      case TimelineSpan::Kind::Wait: slice(span, trackOf(i), span.end); break;
      case TimelineSpan::Kind::Instant: break;
      case TimelineSpan::Kind::Flight:
        laneOf_[i] = lanes[span.role.index()].laneFor(span);
        slice(span, trackOf(i), span.end);
        break;
      }
      if (span.kind == TimelineSpan::Kind::Wait || span.resource == kNoResource) continue;
      if (span.op->cost.busy > 0)
        slice(span, {kResources, span.resource}, span.start + span.op->cost.busy);
    }
    for (const Tracks &of : lanes) lanes_.push_back(of.count());
  }

  /// Those of a role's flights lie behind those of the roles before, with room for all.
  Track trackOf(std::size_t span) const {
    const TimelineSpan &of = line_.spans[span];
    const auto role = static_cast<std::int32_t>(of.role.index());
    if (of.kind != TimelineSpan::Kind::Flight) return {kRoles, role};
    return {kInFlight, laneOf_[span] * static_cast<std::int32_t>(program_.roles.size()) + role};
  }

  void begin(std::string_view phase, const std::string &name, Track track, std::int64_t time) {
    json_.attribute("ph", llvm::StringRef(phase));
    json_.attribute("name", clean(name));
    json_.attribute("pid", static_cast<std::int32_t>(track.group));
    json_.attribute("tid", track.number);
    json_.attribute("ts", time);
  }

  void slice(const TimelineSpan &span, Track track, std::int64_t end) {
    json_.object([&] {
      begin("X", labelOf(program_, span), track, span.start);
      json_.attribute("dur", end - span.start);
      json_.attribute("cat", span.kind == TimelineSpan::Kind::Wait ? "wait" : "work");
      json_.attributeObject("args", [&] {
        json_.attribute("role", clean(program_[span.role].name));
        if (span.use != kNoUse) json_.attribute("use", span.use);
        if (span.kind == TimelineSpan::Kind::Flight) json_.attribute("issued", span.issued);
        if (span.op->where.known()) json_.attribute("where", clean(toText(span.op->where)));
      });
    });
  }

  void arrows() {
    std::int64_t id = 0;
    for (const Handover &handover : handoversOf(program_, line_)) {
      arrowEnd("s", ++id, handover.writer);
      arrowEnd("f", id, handover.reader);
    }
  }

  void arrowEnd(std::string_view phase, std::int64_t id, std::int32_t number) {
    const auto place = static_cast<std::size_t>(number);
    const TimelineSpan &span = line_.spans[place];
    json_.object([&] {
      begin(phase, "handover", trackOf(place), span.start);
      json_.attribute("cat", "ring");
      json_.attribute("id", id);
      json_.attribute("bp", "e");
    });
  }

  void name(std::string_view what, Track track, const std::string &text) {
    json_.object([&] {
      begin("M", std::string(what), track, 0);
      json_.attributeObject("args", [&] { json_.attribute("name", clean(text)); });
    });
  }

  void names() {
    for (const Group group : {kRoles, kResources, kInFlight})
      name("process_name", {group, 0},
           std::string(kGroupNames[static_cast<std::size_t>(group) - 1]));
    const auto roles = static_cast<std::int32_t>(program_.roles.size());
    for (std::int32_t role = 0; role < roles; ++role) {
      const std::string &of = program_.roles[static_cast<std::size_t>(role)].name;
      name("thread_name", {kRoles, role}, of);
      for (std::int32_t lane = 0; lane < lanes_[static_cast<std::size_t>(role)]; ++lane)
        name("thread_name", {kInFlight, lane * roles + role}, of + " " + std::to_string(lane));
    }
    for (std::size_t i = 0; i < line_.resources.size(); ++i)
      name("thread_name", {kResources, static_cast<std::int32_t>(i)}, line_.resources[i].name);
  }

  const Program &program_;
  const Timeline &line_;
  std::vector<std::int32_t> laneOf_; // by span
  std::vector<std::int32_t> lanes_;  // by role
  std::string result_;
  llvm::raw_string_ostream out_{result_};
  llvm::json::OStream json_{out_};
};

} // namespace

std::string traceOf(const Program &program, const Timeline &timeline) {
  return TraceEventWriter(program, timeline).run();
}

} // namespace imbrex::schedule
