#include "runtime/log.h"
#include "tests/support/death.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <vector>

using namespace imbrex;

TEST_CASE("an unknown level is refused") { CHECK_FALSE(set_log_filter("info,cache:loud")); }

TEST_CASE("an event is one line on stderr, or goes to the logger that was set") {
  const std::string line = testing::lastWordsOf([] {
    runtime::log(log_level::debug, "cache", "not by default");
    runtime::log(log_level::warn, "cache", "entry {0} of {1}", 3, "gemm");
    std::abort();
  });
  CHECK(line == "imbrex: warn: cache: entry 3 of gemm\n");

  std::vector<std::string> lines;
  set_logger([&](log_level, std::string_view topic, std::string_view text) {
    lines.push_back(std::string(topic) + "=" + std::string(text));
  });
  runtime::log(log_level::error, "cache", "x");
  CHECK(set_log_filter("none"));
  runtime::log(log_level::error, "cache", "y");
  CHECK(set_log_filter(""));
  set_logger({});
  CHECK(lines == std::vector<std::string>{"cache=x"});
}
