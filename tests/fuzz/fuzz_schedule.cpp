#include "backend/schedule/program/program_text.h"
#include "backend/schedule/program/well_formed.h"
#include "backend/support/check.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

using namespace imbrex;

/// Parse, verify, print and parse again whatever bytes there are; the text tells all that the
/// verifier looks at, so that it must judge alike the second time.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  Diagnostics diagnostics;
  const auto program = schedule::parse(text, "fuzz.imx", diagnostics);
  IMBREX_CHECK(program.has_value() != diagnostics.hasErrors(), "{0}", diagnostics.render());
  if (!program) return 0;
  const bool isSound = schedule::verify(*program, diagnostics);
  IMBREX_CHECK(isSound != diagnostics.hasErrors(), "{0}", diagnostics.render());
  const std::string printed = schedule::print(*program);
  Diagnostics none;
  const auto again = schedule::parse(printed, "again.imx", none);
  IMBREX_CHECK(again.has_value(), "{0}{1}", none.render(), printed);
  IMBREX_CHECK(schedule::print(*again) == printed, "{0}", printed);
  IMBREX_CHECK(schedule::verify(*again, none) == isSound, "{0}{1}", none.render(), printed);
  return 0;
}
