#include "tests/kernels/topk_rows.h"

#include <doctest/doctest.h>

using namespace imbrex;
using namespace imbrex::testing;

namespace {

/// Rows whose answer a wrong order of threads would change.
std::vector<Rows<f32>> rowsFor(std::int64_t k) {
  const auto row = [&](std::string_view kind, std::int64_t n) {
    return oneRow(RowMaker<f32>(5).make(kind, n, k, true));
  };
  return {row("all equal", 300), row("boundary tie", 300), row("NaN", 300), row("random", 8)};
}

/// The same bits from every width of a block, every tile and both methods.
void askWidths(const char *name, const std::vector<int> &allWarps) {
  const auto on = device::try_by_name(name);
  if (!on) {
    MESSAGE("SKIP: no code for ", name, " in this build");
    return;
  }
  for (const int warps : allWarps) {
    const std::vector<Selection<f32>> forms{byRounds<f32, i32, 64>(warps),
                                            bySifting<f32, i32, 16, 64, 16>(warps),
                                            bySifting<f32, i32, 16, 128, 64>(warps)};
    for (const Rows<f32> &rows : rowsFor(12))
      for (std::size_t form = 0; form < forms.size(); ++form) {
        CAPTURE(name);
        CAPTURE(warps);
        CAPTURE(form);
        CHECK(forms[form](*on, rows, 12, true) == referenceOf(rows, 12, true));
      }
  }
}

} // namespace

TEST_CASE("the warps of a block do not show") {
  askWidths("emulated:sm_90a", {1, 4});
  askWidths("emulated:gfx942", {1, 4});
  for (const char *name : {"emulated:sm_80", "emulated:sm_120a", "emulated:gfx90a",
                           "emulated:gfx1100", "emulated:gfx1201"})
    askWidths(name, {2});
}

TEST_CASE("the host function picks what every device runs") {
  for (const char *name : {"emulated:sm_90a", "emulated:gfx1100"}) {
    const auto on = device::try_by_name(name);
    if (!on) continue;
    RowMaker<f32> maker(9);
    const Rows<f32> rows = oneRow(maker.make("some dead", 2500, 20, false));
    for (const std::int64_t k : {3, 20}) {
      const auto got = answersOf<f32, i64>(rows, k, [&](auto &scores, auto &, auto &indices) {
        kernels::block_select_topk(*on, scores, k, indices, {.largest = false});
      });
      CHECK(got == referenceOf(rows, k, false));
    }
  }
}
