#pragma once

#include "backend/schedule/timeline/timeline.h"

#include <map>
#include <string>
#include <utility>

/// What pictures of a timeline say of its spans.
namespace imbrex::schedule::timeline {

/// "copy A, B", "wait full", "drain products".
std::string labelOf(const Program &program, const ScheduleOp &op);
/// The same with the use: "copy A, B 3".
std::string labelOf(const Program &program, const TimelineSpan &span);

/// The ring that an operation is about: its barrier's, else that of its first access to one.
RingId ringOf(const Program &program, const ScheduleOp &op);

/// Where spans that overlap lie beside each other: to each the first lane that is free.
class Tracks {
public:
  std::int32_t laneFor(const TimelineSpan &span);
  std::int32_t count() const { return static_cast<std::int32_t>(freeAt_.size()); }

private:
  std::vector<std::int64_t> freeAt_;
};

/// A span that fills a use of a ring, and the first one of a role behind it that reads the use.
struct Handover {
  std::int32_t writer, reader;
};
std::vector<Handover> handoversOf(const Program &program, const Timeline &timeline);

/// "98 %".
std::string percent(double share);

} // namespace imbrex::schedule::timeline
