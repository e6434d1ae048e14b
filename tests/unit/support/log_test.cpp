#include <vector>

#include <doctest/doctest.h>

#include "backend/support/log.h"
#include "tests/support/death.h"

using namespace imbrex;

TEST_CASE("a topic's own level goes before the general one") {
  const auto filter = parseLogFilter("error,cache:debug,jit:none").value();
  CHECK(filter.passes(LogLevel::Error, "launch"));
  CHECK_FALSE(filter.passes(LogLevel::Warn, "launch"));
  CHECK(filter.passes(LogLevel::Debug, "cache"));
  CHECK_FALSE(filter.passes(LogLevel::Error, "jit"));
}

TEST_CASE("without words the filter is the default, and an unknown level is refused") {
  CHECK(parseLogFilter("").value().level == LogLevel::Warn);
  CHECK(parseLogFilter("jit:info").value().level == LogLevel::Warn);
  for (const char *text : {"loud", "cache:", "info,cache:loud", ":", ",info"}) {
    CAPTURE(text);
    CHECK_FALSE(parseLogFilter(text).has_value());
  }
}

TEST_CASE("an event is one line on stderr, or goes to the logger that was set") {
  const std::string line = testing::lastWordsOf([] {
    log(LogLevel::Debug, "cache", "not by default");
    log(LogLevel::Warn, "cache", "entry {0} of {1}", 3, "gemm");
    std::abort();
  });
  CHECK(line == "imbrex: warn: cache: entry 3 of gemm\n");

  std::vector<std::string> lines;
  setLogger([&](LogLevel, std::string_view topic, std::string_view text) {
    lines.push_back(std::string(topic) + "=" + std::string(text));
  });
  log(LogLevel::Error, "cache", "x");
  setLogger({});
  CHECK(lines == std::vector<std::string>{"cache=x"});
}
