#include "backend/schedule/timeline/labels.h"
#include "backend/schedule/timeline/timeline_pictures.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace imbrex::schedule {

using namespace timeline;

namespace {

/// Colours of rings in turn; what has no ring is grey.
constexpr std::array<std::string_view, 8> kRingColours = {
    "#7aa6d8", "#e8a15c", "#83bf78", "#d98a9b", "#a58fd0", "#c4b454", "#6fbdbd", "#b58b72"};
constexpr std::string_view kNoRingColour = "#b8bcc4";

/// Pixels.
constexpr std::int64_t kLane = 24, kFlightLane = 12, kGap = 6, kCharacter = 7, kMargin = 10,
                       kLeastWidth = 1'000, kMostWidth = 16'000, kPerSpan = 60;
/// Of text, in tenths of pixels: what a character of a fixed width takes at its size, and what lies
/// before and behind a label.
constexpr std::int64_t kFontSize = 11, kSmallFontSize = 9, kTenthsOfSize = 6, kLabelMargin = 40;
/// More are not to be looked at; a browser shows as many with ease.
constexpr std::size_t kMostSpans = 4'000;
/// Flights beside each other that are shown; others lie over the last.
constexpr std::int32_t kMostLanes = 16;

/// Any text within XML 1.0: no control characters, and nothing that is not Unicode.
std::string escapedForXml(const std::string &text) {
  std::string shown = llvm::json::fixUTF8(text);
  for (char &c : shown)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  // U+FFFE and U+FFFF are no characters of XML.
  for (std::string_view none : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"})
    for (std::size_t at = shown.find(none); at != std::string::npos; at = shown.find(none))
      shown.replace(at, none.size(), "?");
  std::string result;
  llvm::raw_string_ostream out(result);
  llvm::printHTMLEscaped(shown, out);
  return result;
}

/// A step of the axis: 1, 2 or 5 times a power of ten, with room for a number.
std::int64_t tickOf(double pixelsPerCycle) {
  constexpr double kRoom = 70;
  std::int64_t power = 1;
  while (true) {
    for (const std::int64_t factor : {1, 2, 5})
      if (static_cast<double>(power * factor) * pixelsPerCycle >= kRoom) return power * factor;
    power *= 10;
  }
}

class TimelineSvg {
public:
  TimelineSvg(const Program &program, const Timeline &timeline)
      : program_(program), line_(timeline) {
    choose();
    measure();
  }

  std::string run() {
    head();
    axis();
    for (const Lane &lane : lanes_) laneHeading(lane);
    for (const std::size_t span : shown_) draw(span);
    legend();
    out_ << "</svg>\n";
    return std::move(result_);
  }

private:
  struct Lane {
    std::string name;
    std::int64_t top, height;
    bool binds = false;
  };

  /// The spans that take time, as far as there are not too many.
  void choose() {
    for (std::size_t i = 0; i < line_.spans.size(); ++i)
      if (line_.spans[i].cycles() > 0) shown_.push_back(i);
    std::ranges::sort(shown_, {},
                      [&](std::size_t i) { return std::pair(line_.spans[i].start, i); });
    until_ = line_.isWhole ? line_.cycles : line_.spans.back().start;
    if (shown_.size() <= kMostSpans) return;
    until_ = line_.spans[shown_[kMostSpans]].start;
    shown_.resize(kMostSpans);
  }

  void measure() {
    std::int64_t top = kMargin + 4 * kLane;
    const auto add = [&](std::string name, std::int64_t height, bool binds = false) {
      lanes_.push_back({.name = std::move(name), .top = top, .height = height, .binds = binds});
      top += height + kGap;
    };
    for (const Role &role : program_.roles) add(role.name, kLane);
    for (std::size_t i = 0; i < line_.resources.size(); ++i)
      add(line_.resources[i].name + " " + percent(line_.resources[i].share), kLane,
          line_.binding == static_cast<std::int32_t>(i));
    std::vector<Tracks> flights(program_.roles.size());
    flightLane_.resize(line_.spans.size());
    for (const std::size_t i : shown_)
      if (line_.spans[i].kind == TimelineSpan::Kind::Flight)
        flightLane_[i] =
            std::min(flights[line_.spans[i].role.index()].laneFor(line_.spans[i]), kMostLanes - 1);
    for (std::size_t role = 0; role < flights.size(); ++role) {
      flightTop_.push_back(top);
      const std::int32_t count = std::min(flights[role].count(), kMostLanes);
      if (count > 0) add(program_.roles[role].name + " in flight", count * kFlightLane);
    }
    bottom_ = top;
    for (const Lane &lane : lanes_)
      left_ = std::max(left_, static_cast<std::int64_t>(lane.name.size() + 2) * kCharacter);
    left_ += kMargin;
    const auto spans = static_cast<std::int64_t>(shown_.size());
    width_ = std::clamp(spans * kPerSpan / std::max<std::int64_t>(1, std::ssize(lanes_)),
                        kLeastWidth, kMostWidth);
    const double wide = scaleForUses() * static_cast<double>(until_);
    width_ = std::max(width_, static_cast<std::int64_t>(std::min<double>(wide, kMostWidth)));
    scale_ = static_cast<double>(width_) / static_cast<double>(std::max<std::int64_t>(1, until_));
  }

  static double tenthsOf(std::size_t characters, std::int64_t size) {
    return static_cast<double>(static_cast<std::int64_t>(characters) * size * kTenthsOfSize +
                               kLabelMargin);
  }

  /// Pixels for a cycle, so that nine of ten operations of a ring have room for the number of their
  /// use.
  double scaleForUses() const {
    std::vector<double> scales;
    for (const std::size_t i : shown_) {
      const TimelineSpan &span = line_.spans[i];
      if (span.kind == TimelineSpan::Kind::Wait || span.use == kNoUse) continue;
      const double tenths = tenthsOf(std::to_string(span.use).size(), kSmallFontSize);
      scales.push_back(tenths / 10 / static_cast<double>(span.cycles()));
    }
    if (scales.empty()) return 0;
    const auto most = scales.begin() + std::ssize(scales) * 9 / 10;
    std::ranges::nth_element(scales, most);
    return *most;
  }

  double x(std::int64_t cycle) const {
    return static_cast<double>(left_) + static_cast<double>(std::min(cycle, until_)) * scale_;
  }

  static std::string pixels(double number) {
    const auto tenths = std::llround(number * 10);
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
  }

  void head() {
    const std::string limit = limitOf(program_, line_);
    const std::int64_t wide =
        std::max<std::int64_t>(left_ + width_,
                               static_cast<std::int64_t>(std::min<std::size_t>(limit.size(), 400)) *
                                   kCharacter) +
        2 * kMargin;
    const std::int64_t high = bottom_ + 2 * kLane + kMargin;
    out_ << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << wide << "\" height=\"" << high
         << "\" viewBox=\"0 0 " << wide << " " << high
         << "\" font-family=\"monospace\" font-size=\"11\">\n"
         << "<title>" << escapedForXml(program_.name) << "</title>\n"
         << "<defs><pattern id=\"wait\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
            "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#fbf3f1\"/>"
            "<rect width=\"2\" height=\"6\" fill=\"#e3b5ac\"/></pattern></defs>\n"
         << "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
    std::string title = program_.name + ": " + std::to_string(line_.cycles) + " cycles";
    if (until_ < line_.cycles)
      title += ", of which the first " + std::to_string(until_) + " are shown";
    text(kMargin, kMargin + kLane / 2, title, "font-weight=\"bold\"");
    text(kMargin, kMargin + kLane + kLane / 2, limit);
  }

  void text(std::int64_t left, std::int64_t base, const std::string &what,
            std::string_view style = "") {
    out_ << "<text x=\"" << left << "\" y=\"" << base << "\"" << (style.empty() ? "" : " ")
         << llvm::StringRef(style) << ">" << escapedForXml(what) << "</text>\n";
  }

  void axis() {
    const std::int64_t tick = tickOf(scale_), top = kMargin + 3 * kLane;
    for (std::int64_t cycle = 0; cycle <= until_; cycle += tick) {
      out_ << "<path d=\"M" << pixels(x(cycle)) << " " << top << "V" << bottom_
           << "\" stroke=\"#e0e0e0\"/>\n";
      text(static_cast<std::int64_t>(x(cycle)) + 2, top + 8, std::to_string(cycle),
           "fill=\"#606060\"");
    }
  }

  void laneHeading(const Lane &lane) {
    text(kMargin, lane.top + std::min(lane.height, kLane) / 2 + 4, lane.name,
         lane.binds ? "font-weight=\"bold\" fill=\"#b03020\"" : "");
    out_ << "<rect x=\"" << left_ << "\" y=\"" << lane.top << "\" width=\"" << width_
         << "\" height=\"" << lane.height << "\" fill=\"none\" stroke=\""
         << (lane.binds ? "#b03020\" stroke-width=\"2" : "#d0d0d0") << "\"/>\n";
  }

  std::string colourOf(const TimelineSpan &span) const {
    if (span.kind == TimelineSpan::Kind::Wait) return "url(#wait)";
    const RingId ring = ringOf(program_, *span.op);
    return std::string(ring.valid() ? kRingColours[ring.index() % kRingColours.size()]
                                    : kNoRingColour);
  }

  void draw(std::size_t number) {
    const TimelineSpan &span = line_.spans[number];
    const bool isWait = span.kind == TimelineSpan::Kind::Wait;
    const std::size_t role = span.role.index();
    if (span.kind == TimelineSpan::Kind::Flight)
      box(span, span.end, flightTop_[role] + flightLane_[number] * kFlightLane, kFlightLane);
    else
      box(span, span.end, lanes_[role].top, kLane);
    if (isWait || span.resource == kNoResource || span.op->cost.busy == 0) return;
    const Lane &lane = lanes_[program_.roles.size() + static_cast<std::size_t>(span.resource)];
    box(span, span.start + span.op->cost.busy, lane.top, kLane);
  }

  void box(const TimelineSpan &span, std::int64_t end, std::int64_t top, std::int64_t height) {
    const double from = x(span.start), wide = x(end) - from;
    out_ << "<rect x=\"" << pixels(from) << "\" y=\"" << top + 1 << "\" width=\"" << pixels(wide)
         << "\" height=\"" << height - 2 << "\" fill=\"" << colourOf(span)
         << (span.op->kind == ScheduleOpKind::Copy ? "\" fill-opacity=\"0.5" : "")
         << "\" stroke=\"#707070\" stroke-width=\"0.5\"><title>"
         << escapedForXml(program_[span.role].name + ": " + labelOf(program_, span)) << ", "
         << span.start << " to " << end << "</title></rect>\n";
    const std::int64_t usual = height < kLane ? kSmallFontSize : kFontSize;
    const auto [label, size] = fitting(span, wide, usual);
    if (label.empty()) return;
    out_ << "<text x=\"" << pixels(from + 2) << "\" y=\"" << top + height / 2 + 4
         << (size < kFontSize ? "\" font-size=\"9" : "") << "\">" << escapedForXml(label)
         << "</text>\n";
  }

  struct Label {
    std::string text;
    std::int64_t size;
  };

  /// As much of a span's label as there is room for: without what it does, or the use alone, in
  /// small letters before it is left out.
  Label fitting(const TimelineSpan &span, double wide, std::int64_t size) const {
    const auto fits = [&](const std::string &text, std::int64_t at) {
      return !text.empty() && tenthsOf(text.size(), at) <= wide * 10;
    };
    const std::string whole = labelOf(program_, span);
    if (fits(whole, size)) return {whole, size};
    const std::string what = whole.substr(std::min(whole.find(' '), whole.size() - 1) + 1);
    if (fits(what, size)) return {what, size};
    const std::string use = span.use == kNoUse ? "" : std::to_string(span.use);
    if (fits(use, size)) return {use, size};
    return fits(use, kSmallFontSize) ? Label{use, kSmallFontSize} : Label{"", size};
  }

  void legend() {
    std::int64_t left = kMargin;
    const std::int64_t top = bottom_ + kGap;
    const auto entry = [&](std::string_view fill, const std::string &name) {
      out_ << "<rect x=\"" << left << "\" y=\"" << top << "\" width=\"14\" height=\"14\" fill=\""
           << llvm::StringRef(fill) << "\" stroke=\"#707070\"/>\n";
      text(left + 20, top + 11, name);
      left += 34 + static_cast<std::int64_t>(name.size()) * kCharacter;
    };
    for (std::size_t ring = 0; ring < program_.rings.size() && ring < kRingColours.size(); ++ring)
      entry(kRingColours[ring], program_.rings[ring].name);
    entry(kNoRingColour, "no ring");
    text(left, top + 11, "copies are paler");
    left += 18 * kCharacter;
    entry("url(#wait)", "waits");
  }

  const Program &program_;
  const Timeline &line_;
  std::vector<std::size_t> shown_;
  std::int64_t until_ = 0;
  std::vector<Lane> lanes_; // of roles, resources, and what is in flight
  std::vector<std::int32_t> flightLane_;
  std::vector<std::int64_t> flightTop_;
  std::int64_t left_ = 0, width_ = 0, bottom_ = 0;
  double scale_ = 1;
  std::string result_;
  llvm::raw_string_ostream out_{result_};
};

} // namespace

std::string svgOf(const Program &program, const Timeline &timeline) {
  return TimelineSvg(program, timeline).run();
}

} // namespace imbrex::schedule
