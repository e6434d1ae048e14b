#include "backend/support/log.h"

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "backend/support/environment.h"

namespace imbrex {

namespace {

constexpr auto kLevels =
    std::to_array<std::string_view>({"none", "error", "warn", "info", "debug"});

std::optional<LogLevel> parseLevel(std::string_view name) {
  const auto *level = std::ranges::find(kLevels, name);
  if (level == kLevels.end()) return std::nullopt;
  return static_cast<LogLevel>(level - kLevels.begin());
}

std::mutex loggerMutex;

Logger &currentLogger() {
  // Never destroyed, because statics may log while they go.
  static auto &logger = *new Logger;
  return logger;
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

void setLogger(Logger logger) {
  const std::scoped_lock lock(loggerMutex);
  currentLogger() = std::move(logger);
}

bool isLogged(LogLevel level, std::string_view topic) {
  return environment().log.passes(level, topic);
}

void writeLog(LogLevel level, std::string_view topic, std::string_view text) {
  const std::scoped_lock lock(loggerMutex);
  if (const Logger &logger = currentLogger()) return logger(level, topic, text);
  std::string line = "imbrex: " + std::string(kLevels[static_cast<std::size_t>(level)]);
  line += ": " + std::string(topic) + ": " + std::string(text) + "\n";
  std::fputs(line.c_str(), stderr);
}

} // namespace imbrex
