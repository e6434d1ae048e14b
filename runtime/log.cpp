#include "runtime/log.h"

#include "backend/launching/log_filter.h"
#include "backend/support/check.h"
#include "backend/support/environment.h"

#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>

namespace imbrex {
namespace {

using launching::LogFilter;
using launching::LogLevel;

LogLevel levelOf(log_level level) {
  switch (level) {
  case log_level::none: return LogLevel::None;
  case log_level::error: return LogLevel::Error;
  case log_level::warn: return LogLevel::Warn;
  case log_level::info: return LogLevel::Info;
  case log_level::debug: return LogLevel::Debug;
  }
  IMBREX_UNREACHABLE("level");
}

LogFilter filterOfEnvironment() {
  const std::string &wanted = environment().log;
  if (const auto filter = launching::parseLogFilter(wanted)) return *filter;
  const std::string text = render(
      diagnostic(Diag::BadVariableValue, {}, "IMBREX_LOG", wanted, launching::kLogFilterHint));
  std::fputs(text.c_str(), stderr);
  return {};
}

struct LogState {
  std::mutex mutex; // of `receiver`
  logger receiver;
  std::atomic<std::shared_ptr<const LogFilter>> filter =
      std::make_shared<const LogFilter>(filterOfEnvironment());
};

LogState &state() {
  static auto &only = *new LogState; // never destroyed, because statics may log while they go
  return only;
}

} // namespace

void set_logger(logger receiver) {
  const std::scoped_lock lock(state().mutex);
  state().receiver = std::move(receiver);
}

bool set_log_filter(std::string_view levels) {
  const auto filter = launching::parseLogFilter(levels);
  if (filter) state().filter.store(std::make_shared<const LogFilter>(*filter));
  return filter.has_value();
}

namespace runtime {

bool isLogged(log_level level, std::string_view topic) {
  return state().filter.load()->passes(levelOf(level), topic);
}

void writeLog(log_level level, std::string_view topic, std::string_view text) {
  const std::scoped_lock lock(state().mutex);
  if (state().receiver) return state().receiver(level, topic, text);
  std::fputs(launching::logLine(levelOf(level), topic, text).c_str(), stderr);
}

} // namespace runtime
} // namespace imbrex
