#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "backend/support/text.h"

namespace imbrex {

enum class LogLevel : std::uint8_t { None, Error, Warn, Info, Debug };

/// What is logged: a level for all topics, and other levels for some. Written `info,cache:debug`.
struct LogFilter {
  LogLevel level = LogLevel::Warn;
  std::map<std::string, LogLevel, std::less<>> topics = {};

  bool passes(LogLevel event, std::string_view topic) const;
};

/// None where a level's name is unknown.
std::optional<LogFilter> parseLogFilter(std::string_view text);

/// Who gets the lines instead of stderr; an empty function gives them to stderr again. Whoever logs
/// does so from any thread, but the logger is called from one at a time.
using Logger = std::function<void(LogLevel level, std::string_view topic, std::string_view text)>;
void setLogger(Logger logger);

/// Whether IMBREX_LOG asks for this event: to be asked before work that only the log needs.
bool isLogged(LogLevel level, std::string_view topic);

/// One line, `imbrex: debug: cache: text`; never to stdout, which is the user's.
void writeLog(LogLevel level, std::string_view topic, std::string_view text);

template <class... Args>
void log(LogLevel level, std::string_view topic, std::string_view pattern,
         const Args &...arguments) {
  if (!isLogged(level, topic)) return;
  const std::array<std::string, sizeof...(Args)> texts{std::string(toText(arguments))...};
  writeLog(level, topic, fill(pattern, texts));
}

} // namespace imbrex
