#include "backend/ir/text.h"
#include "backend/ir/verify.h"
#include "backend/support/check.h"
#include "tests/support/golden.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

using namespace imbrex;

/// Parse, verify, print and parse again whatever bytes there are. A golden file, of which the
/// corpus is made, is taken case by case.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  for (const testing::GoldenCase &one : testing::goldenCases(text)) {
    Diagnostics diagnostics;
    const auto kernel = ir::parse(one.input, "fuzz.imx", diagnostics);
    if (!kernel) continue;
    ir::verify(*kernel, diagnostics);
    const std::string printed = ir::print(*kernel, {.locations = true});
    Diagnostics none;
    const auto again = ir::parse(printed, "again.imx", none);
    IMBREX_CHECK(again.has_value(), "{0}", none.render());
    IMBREX_CHECK(ir::print(*again, {.locations = true}) == printed, "{0}", printed);
  }
  return 0;
}
