#include "backend/support/diagnostics.h"

#include <doctest/doctest.h>

#include <sstream>

using namespace imbrex;

TEST_CASE("a diagnostic renders as place, severity, message and, on its own line, hint") {
  Diagnostics diagnostics;
  diagnostics.report(Diag::MisspeltVariable, {.file = "gemm.cpp", .line = 41}, "IMBREX_DUMB",
                     "IMBREX_DUMP");
  CHECK(diagnostics.render() ==
        "gemm.cpp:41: warning: there is no environment variable 'IMBREX_DUMB'\n"
        "  hint: did you mean 'IMBREX_DUMP'?\n");
}

TEST_CASE("a place without a line has no number, and no place is imbrex itself") {
  CHECK(toText(Location{.file = "a.imx"}) == "a.imx");
  CHECK(toText(Location{}) == "imbrex");
}

TEST_CASE("a warning alone is not an error") {
  Diagnostics diagnostics;
  CHECK_FALSE(diagnostics.hasErrors());
  diagnostics.report(Diag::UnknownVariable, {}, "IMBREX_X");
  CHECK_FALSE(diagnostics.hasErrors());
  CHECK(diagnostics.all().size() == 1);
}

TEST_CASE("each report of a row is counted") {
  const auto before = timesReported(Diag::UnknownVariable);
  Diagnostics().report(Diag::UnknownVariable, {}, "IMBREX_X");
  CHECK(timesReported(Diag::UnknownVariable) == before + 1);
}

TEST_CASE("messages are in lower case, without a full stop, and fill from {0} without a gap") {
  for (const DiagInfo &row : kDiagnostics) {
    CAPTURE(row.name);
    const std::string both = std::string(row.message) + std::string(row.hint);
    CHECK_FALSE(row.message.empty());
    CHECK_FALSE((row.message.front() >= 'A' && row.message.front() <= 'Z'));
    CHECK_FALSE(row.message.ends_with('.'));
    CHECK_FALSE(row.hint.ends_with('.'));
    for (int i = 0; i < countFillers(both); ++i)
      CHECK(both.find("{" + std::to_string(i) + "}") != std::string::npos);
  }
}

TEST_CASE("an interned file name lives on and is one per text") {
  std::string name = "made/at/run/time.imx";
  const std::string_view interned = internFileName(name);
  CHECK(interned.data() == internFileName("made/at/run/time.imx").data());
  name.clear();
  CHECK(interned == "made/at/run/time.imx");
}
