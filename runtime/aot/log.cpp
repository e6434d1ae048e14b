#include "runtime/aot/log.h"

#include "imbrex/aot.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace imbrex::aot {
namespace {

constinit std::mutex receiving; // of the two behind it, and so that one is called at a time
constinit imbrex_log_receiver *receiver = nullptr;
constinit void *receiversOwn = nullptr;

void write(LogLevel level, const char *topic, const char *text) {
  const std::scoped_lock lock(receiving);
  if (receiver != nullptr)
    receiver(static_cast<std::int32_t>(level), topic, text, receiversOwn);
  else
    std::fputs(launching::logLine(level, topic, text).c_str(), stderr);
}

const launching::LogFilter &filter() {
  // Never destroyed, because statics may launch while they go.
  static const auto &only = *[] {
    const char *wanted = std::getenv("IMBREX_LOG");
    if (wanted == nullptr) return new launching::LogFilter;
    if (auto asked = launching::parseLogFilter(wanted))
      return new launching::LogFilter(std::move(*asked));
    const std::string text =
        std::string("IMBREX_LOG is '") + wanted + "', which is not " + launching::kLogFilterHint;
    write(LogLevel::Warn, "log", text.c_str());
    return new launching::LogFilter;
  }();
  return only;
}

} // namespace

void log(LogLevel level, const char *topic, const char *format, ...) {
  if (!filter().passes(level, topic)) return;
  constexpr std::size_t kTextBytes = 4096;
  std::array<char, kTextBytes> text{};
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(text.data(), text.size(), format, values);
  va_end(values);
  write(level, topic, text.data());
}

} // namespace imbrex::aot

void imbrex_set_log_receiver(imbrex_log_receiver *receiver, void *own) {
  const std::scoped_lock lock(imbrex::aot::receiving);
  imbrex::aot::receiver = receiver;
  imbrex::aot::receiversOwn = own;
}
