#include "backend/support/check.h"
#include "backend/support/result.h"
#include "tests/support/death.h"

#include <doctest/doctest.h>

using namespace imbrex;
using testing::lastWordsOf;

TEST_CASE("a failing check says what failed, then its notes from the innermost, then aborts") {
  const std::string text = lastWordsOf([] {
    const CrashNote outer([] { return std::string("the kernel"); });
    const CrashNote inner([] { return std::string("the pass"); });
    IMBREX_CHECK(1 + 1 == 3, "sum of {0} and {1}", 1, "one");
  });
  CHECK(text.ends_with(": internal error: sum of 1 and one (1 + 1 == 3)\n"
                       "the pass\n"
                       "the kernel\n"
                       "this is a bug in imbrex; please report it with the text above\n"));
}

TEST_CASE("a note that fails itself does not hide the others, nor recur") {
  const std::string text = lastWordsOf([] {
    const CrashNote outer([] { return std::string("the kernel"); });
    const CrashNote inner([]() -> std::string { IMBREX_UNREACHABLE("in a note"); });
    IMBREX_CHECK(false, "first");
  });
  CHECK(text.find("first (false)") != std::string::npos);
  CHECK(text.find("in a note (unreachable)\nthe kernel\n") != std::string::npos);
}

TEST_CASE("a note is gone with its scope, and a check that holds says nothing") {
  {
    const CrashNote note([] { return std::string("the pass"); });
  }
  CHECK(lastWordsOf([] { IMBREX_CHECK(true, "fine"); }) == "survived");
  CHECK(lastWordsOf([] { IMBREX_CHECK(false, "first"); }).find("the pass") == std::string::npos);
}

TEST_CASE("to take the value of a failed result is a bug, which names the error") {
  const Result<int> failed = fail(Diag::UnknownVariable, {}, "IMBREX_X");
  CHECK(lastWordsOf([&] {
          (void)failed.value();
        }).find("imbrex: warning: there is no environment variable 'IMBREX_X'") !=
        std::string::npos);
  const Result<int> fine = 3;
  CHECK(lastWordsOf([&] { (void)fine.error(); }).find("internal error") != std::string::npos);
}

TEST_CASE("a report with a wrong number of arguments is a bug that names the row") {
  CHECK(lastWordsOf([] {
          Diagnostics().report(Diag::MisspeltVariable, {}, "one");
        }).find("diagnostic 'MisspeltVariable' wants 2 arguments, not 1") != std::string::npos);
}
