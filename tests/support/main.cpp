// The main of every test program: doctest's, with one option more. With --skip-status=N a run in
// which nothing failed, but something was skipped, ends with N, so that ctest shows it. A test that
// skips something says why by MESSAGE("SKIP: …").

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

namespace {

std::atomic<bool> hasSkipped = false;

/// Hears what is said beside doctest's own reporter.
class Listener final : public doctest::IReporter {
public:
  explicit Listener(const doctest::ContextOptions & /*options*/) {}
  void log_message(const doctest::MessageData &message) override {
    if (std::string_view(message.m_string.c_str()).starts_with("SKIP: ")) hasSkipped = true;
  }
  void report_query(const doctest::QueryData & /*query*/) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats & /*stats*/) override {}
  void test_case_start(const doctest::TestCaseData & /*test*/) override {}
  void test_case_reenter(const doctest::TestCaseData & /*test*/) override {}
  void test_case_end(const doctest::CurrentTestCaseStats & /*stats*/) override {}
  void test_case_exception(const doctest::TestCaseException & /*exception*/) override {}
  void subcase_start(const doctest::SubcaseSignature & /*subcase*/) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData & /*assertion*/) override {}
  void test_case_skipped(const doctest::TestCaseData & /*test*/) override {}
};

int skipStatus(int count, char **words) {
  constexpr std::string_view kOption = "--skip-status=";
  for (int i = 1; i < count; ++i)
    if (std::string_view(words[i]).starts_with(kOption))
      return std::atoi(words[i] + kOption.size());
  return 0;
}

} // namespace

REGISTER_LISTENER("skips", 1, Listener);

// A test compiles what it runs, unless it says itself where something may be kept.
[[maybe_unused]] const int keepsNothing = setenv("IMBREX_CACHE_DIR", "off", 0);

int main(int count, char **words) {
  const int status = doctest::Context(count, words).run();
  return status == 0 && hasSkipped ? skipStatus(count, words) : status;
}
