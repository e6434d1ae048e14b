#include "runtime/log.h"

#include "backend/support/environment.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>

namespace imbrex {
namespace {

using runtime::LogFilter;

// In the order of log_level.
constexpr auto kLevels =
    std::to_array<std::string_view>({"none", "error", "warn", "info", "debug"});

std::optional<log_level> parseLevel(std::string_view name) {
  const auto *level = std::ranges::find(kLevels, name);
  if (level == kLevels.end()) return std::nullopt;
  return static_cast<log_level>(level - kLevels.begin());
}

LogFilter filterOfEnvironment() {
  const std::string &wanted = environment().log;
  if (const auto filter = runtime::parseLogFilter(wanted)) return *filter;
  const std::string text = render(diagnostic(Diag::BadVariableValue, {}, "IMBREX_LOG", wanted,
                                             "a level such as info, or info,cache:debug"));
  std::fputs(text.c_str(), stderr);
  return {};
}

struct State {
  std::mutex mutex; // of `receiver`
  logger receiver;
  std::atomic<std::shared_ptr<const LogFilter>> filter =
      std::make_shared<const LogFilter>(filterOfEnvironment());
};

State &state() {
  static auto &only = *new State; // never destroyed, because statics may log while they go
  return only;
}

} // namespace

void set_logger(logger receiver) {
  const std::scoped_lock lock(state().mutex);
  state().receiver = std::move(receiver);
}

bool set_log_filter(std::string_view levels) {
  const auto filter = runtime::parseLogFilter(levels);
  if (filter) state().filter.store(std::make_shared<const LogFilter>(*filter));
  return filter.has_value();
}

namespace runtime {

bool LogFilter::passes(log_level event, std::string_view topic) const {
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

bool isLogged(log_level level, std::string_view topic) {
  return state().filter.load()->passes(level, topic);
}

void writeLog(log_level level, std::string_view topic, std::string_view text) {
  const std::scoped_lock lock(state().mutex);
  if (state().receiver) return state().receiver(level, topic, text);
  std::string line = "imbrex: " + std::string(kLevels[static_cast<std::size_t>(level)]);
  line += ": " + std::string(topic) + ": " + std::string(text) + "\n";
  std::fputs(line.c_str(), stderr);
}

} // namespace runtime
} // namespace imbrex
