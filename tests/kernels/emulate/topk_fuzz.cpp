// topk_fuzz FIRST COUNT: so many random selections, each by a seed of its own, from FIRST on. The
// host answers all of them; the interpreter every eighth, an emulated GPU every thirty-second. Each
// answer has to keep the contract's promises and to be the reference's.

#include "tests/kernels/topk_rows.h"

#include <cstdio>
#include <cstdlib>

using namespace imbrex;
using namespace imbrex::testing;

namespace {

constexpr auto kEmulated = std::to_array<const char *>(
    {"emulated:sm_80", "emulated:sm_90a", "emulated:sm_120a", "emulated:gfx90a", "emulated:gfx942",
     "emulated:gfx1100", "emulated:gfx1201"});

std::vector<device> devicesOf(std::uint64_t seed) {
  std::vector<device> devices{device::host()};
  if (seed % 8 == 0) devices.push_back(device::interpreter());
  if (seed % 32 == 0)
    if (const auto on = device::try_by_name(kEmulated[seed / 32 % kEmulated.size()]))
      devices.push_back(*on);
  return devices;
}

/// What is wrong with an answer, in words.
template <class T>
std::string mistakeIn(const Rows<T> &rows, std::int64_t k, bool largest,
                      const std::vector<Places> &got) {
  if (std::ssize(got) != rows.rows) return "the scores or what lies around them were written";
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    const Places &answer = got[static_cast<std::size_t>(i)];
    if (const auto broken = brokenPromise(rows.row(i), largest, answer)) return *broken;
    if (answer != referenceTopk(rows.row(i), k, largest)) return "the reference says otherwise";
  }
  return "";
}

template <class T>
struct Case {
  std::string_view kind;
  bool largest = true;
  std::int64_t k = 0;
  Rows<T> rows;
};

template <class T>
Case<T> caseOf(std::uint64_t seed) {
  RowMaker<T> maker(seed);
  const bool largest = maker.below(2) == 0;
  const std::int64_t k = maker.below(17), rows = 1 + maker.below(3);
  const std::int64_t n = maker.below(4) == 0 ? maker.below(8) : maker.below(400);
  const auto kind = kRowKinds[static_cast<std::size_t>(maker.below(std::ssize(kRowKinds)))];
  Case<T> made{
      .kind = kind, .largest = largest, .k = k, .rows = {.scores = {}, .rows = rows, .columns = n}};
  for (std::int64_t i = 0; i < rows; ++i)
    std::ranges::copy(maker.make(kind, n, k, largest), std::back_inserter(made.rows.scores));
  if (maker.below(4) == 0)
    for (std::int64_t i = 0; i < rows; ++i)
      made.rows.counts.push_back(static_cast<std::int32_t>(maker.below(n + 2)));
  return made;
}

/// Whether one case goes well.
template <class T>
bool run(std::uint64_t seed) {
  static const std::vector<Selection<T>> forms{byRounds<T, i32, 64>(),
                                               bySifting<T, i32, 16, 64, 16>()};
  const Case<T> one = caseOf<T>(seed);
  bool isRight = true;
  for (const device on : devicesOf(seed))
    for (std::size_t form = 0; form < forms.size(); ++form) {
      const auto got = forms[form](on, one.rows, one.k, one.largest);
      const std::string mistake = mistakeIn(one.rows, one.k, one.largest, got);
      if (mistake.empty()) continue;
      std::printf("topk_fuzz %llu 1: %s: %s, by %s: %lld x %lld of %s, k = %lld, %s\n",
                  static_cast<unsigned long long>(seed), std::string(on.name()).c_str(),
                  mistake.c_str(), form == 0 ? "rounds" : "sifting",
                  static_cast<long long>(one.rows.rows), static_cast<long long>(one.rows.columns),
                  std::string(one.kind).c_str(), static_cast<long long>(one.k),
                  one.largest ? "largest" : "smallest");
      isRight = false;
    }
  return isRight;
}

/// What would find nothing proves nothing: an index that is out of range breaks a promise, and two
/// equal scores in the wrong order are told by the reference alone.
bool controlsAreFound(std::uint64_t seed) {
  RowMaker<f32> maker(seed);
  const Rows<f32> rows = oneRow(maker.make("all equal", 40, 8, true));
  std::vector<Places> answer = referenceOf(rows, 8, true);
  if (!mistakeIn(rows, 8, true, answer).empty()) return false;
  const auto at = static_cast<std::size_t>(maker.below(7));
  auto swapped = answer, outside = answer;
  std::swap(swapped[0][at], swapped[0][at + 1]);
  outside[0][at] = 40;
  return !brokenPromise(rows.row(0), true, swapped[0]) &&
         mistakeIn(rows, 8, true, swapped) == "the reference says otherwise" &&
         brokenPromise(rows.row(0), true, outside[0]) == "an index is out of range";
}

bool runAny(std::uint64_t seed) {
  switch (seed % 5) {
  case 0: return run<f32>(seed / 5);
  case 1: return run<bf16>(seed / 5);
  case 2: return run<f64>(seed / 5);
  case 3: return run<i64>(seed / 5);
  default: return run<u8>(seed / 5);
  }
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fputs("usage: topk_fuzz FIRST COUNT\n", stderr);
    return 2;
  }
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  std::uint64_t wrong = 0, missed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    wrong += !runAny(seed);
    missed += !controlsAreFound(seed);
  }
  std::printf("%llu cases, %llu wrong, %llu controls missed\n",
              static_cast<unsigned long long>(count), static_cast<unsigned long long>(wrong),
              static_cast<unsigned long long>(missed));
  return wrong + missed == 0 ? 0 : 1;
}
