#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

/// What IMBREX_LOG asks for.
namespace imbrex::launching {

/// imbrex::log_level
enum class LogLevel : std::uint8_t { None, Error, Warn, Info, Debug };

/// A level for all topics, and other levels for some. Written `info,cache:debug`.
struct LogFilter {
  LogLevel level = LogLevel::Warn;
  std::map<std::string, LogLevel, std::less<>> topics = {};

  bool passes(LogLevel event, std::string_view topic) const;
};

/// None where a level's name is unknown.
std::optional<LogFilter> parseLogFilter(std::string_view text);

/// `imbrex: debug: cache: text`, and the end of the line.
std::string logLine(LogLevel level, std::string_view topic, std::string_view text);

/// What those who name a level may write.
inline constexpr const char *kLogFilterHint = "a level such as info, or info,cache:debug";

} // namespace imbrex::launching
