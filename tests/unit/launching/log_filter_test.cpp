#include "backend/launching/log_filter.h"

#include <doctest/doctest.h>

using namespace imbrex::launching;

TEST_CASE("a topic's own level goes before the general one") {
  const auto filter = parseLogFilter("error,cache:debug,jit:none").value();
  CHECK(filter.passes(LogLevel::Error, "launch"));
  CHECK_FALSE(filter.passes(LogLevel::Warn, "launch"));
  CHECK(filter.passes(LogLevel::Debug, "cache"));
  CHECK_FALSE(filter.passes(LogLevel::Error, "jit"));
}

TEST_CASE("without words the filter is the default, and an unknown level is none") {
  CHECK(parseLogFilter("").value().level == LogLevel::Warn);
  CHECK(parseLogFilter("jit:info").value().level == LogLevel::Warn);
  for (const char *text : {"loud", "cache:", "info,cache:loud", ":", ",info"}) {
    CAPTURE(text);
    CHECK_FALSE(parseLogFilter(text).has_value());
  }
}

TEST_CASE("a line says its level and its topic") {
  CHECK(logLine(LogLevel::Warn, "cache", "full") == "imbrex: warn: cache: full\n");
}
