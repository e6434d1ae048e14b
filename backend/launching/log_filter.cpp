#include "backend/launching/log_filter.h"

#include <algorithm>

namespace imbrex::launching {
namespace {

// In the order of LogLevel.
constexpr auto kLevels =
    std::to_array<std::string_view>({"none", "error", "warn", "info", "debug"});

std::optional<LogLevel> parseLevel(std::string_view name) {
  const auto *level = std::ranges::find(kLevels, name);
  if (level == kLevels.end()) return std::nullopt;
  return static_cast<LogLevel>(level - kLevels.begin());
}

} // namespace

bool LogFilter::passes(LogLevel event, std::string_view topic) const {
  const auto own = topics.find(topic);
  return event <= (own == topics.end() ? level : own->second);
}

std::optional<LogFilter> parseLogFilter(std::string_view text) {
  LogFilter filter;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const auto colon = part.find(':');
    const auto level = parseLevel(colon == std::string_view::npos ? part : part.substr(colon + 1));
    if (!level) return std::nullopt;
    if (colon == std::string_view::npos)
      filter.level = *level;
    else
      filter.topics.insert_or_assign(std::string(part.substr(0, colon)), *level);
  }
  return filter;
}

std::string logLine(LogLevel level, std::string_view topic, std::string_view text) {
  return std::string("imbrex: ")
      .append(kLevels[static_cast<std::size_t>(level)])
      .append(": ")
      .append(topic)
      .append(": ")
      .append(text)
      .append("\n");
}

} // namespace imbrex::launching
