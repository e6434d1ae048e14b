#include "backend/math/elementary.h"
#include "backend/math/native.h"
#include "tests/support/semantics.h"
#include "tests/support/semantics_tiles.h"

#include <algorithm>
#include <cmath>
#include <random>

// What is computed of a row at a time may take other ways than what is computed of each element by
// itself, to the same bits: quotients by one divisor, and the exponential of what is never
// positive.
namespace imbrex::semantics {
namespace {

using ir::ElementKind;

constexpr int kColumns = 256;

Tile rowsOf(const std::vector<float> &numbers, const ir::Shape &shape) {
  Tile tile{ElementKind::F32, shape, {}};
  for (const float number : numbers) tile.bits.push_back(math::bitsOf(number));
  return tile;
}

/// Zeros, infinities, NaN, subnormal numbers, the ends of what is divided by a reciprocal, and
/// numbers at random.
std::vector<float> dividends(std::mt19937 &random, bool hasEdges) {
  std::vector<float> row;
  if (hasEdges)
    for (const float edge :
         {0.0F, 0x1p-149F, 0x1.8p-148F, 0x1p-126F, 0x1.fffffep-127F, 0x1p-101F, 0x1.fffffep-101F,
          0x1p-100F, 0x1p100F, 0x1.fffffep99F, 0x1.fffffep127F, HUGE_VALF, 1.0F, 6.0F})
      for (const float sign : {1.0F, -1.0F}) row.push_back(sign * edge);
  if (hasEdges) row.push_back(NAN);
  while (row.size() < kColumns)
    row.push_back(std::ldexp(static_cast<float>(random()), static_cast<int>(random() % 60) - 60));
  std::ranges::shuffle(row, random);
  return row;
}

/// Rows with edges and rows without take different ways, and so do zeros by the divisor's sign.
void addQuotients(std::vector<Case> &cases) {
  std::mt19937 random(11);
  for (const float divisor :
       {3.0F, -7.0F, 0.1F, 1024.0F, 0x1.fffffep0F, 0x1.fffff2p0F, 0x1p-24F, 0x1.8p-25F, 0x1.8p23F,
        0x1p24F, 0x1p-140F, 0.0F, -0.0F, HUGE_VALF, NAN}) {
    std::vector<float> x, quotients;
    for (const bool hasEdges : {false, true})
      for (const float number : dividends(random, hasEdges)) x.push_back(number);
    for (int zero = 0; zero < 4; ++zero)
      x[static_cast<std::size_t>(7 * zero)] = zero % 2 ? 0 : -0.0F;
    for (const float number : x) quotients.push_back(number / divisor);
    const ir::Shape shape{2, kColumns};
    cases.push_back(
        {"rows divided by " + std::to_string(divisor),
         "kernel @case(%x: view<const f32, 2>, %d: view<const f32, 1>, %y: view<f32, 2>) stage "
         "tiles {\n  %0 = constant 0 : i32\n  %v = view.load %x, %0, %0 : f32[2x256]\n"
         "  %e = view.load %d, %0 : f32[2]\n  %r = reshape %e : f32[2x1]\n"
         "  %b = broadcast %r : f32[2x256]\n  %q = div %v, %b : f32[2x256]\n"
         "  view.store %y, %q, %0, %0\n}\n",
         {{rowsOf(x, shape)},
          {rowsOf({divisor, divisor}, {2})},
          {rowsOf(std::vector<float>(x.size(), 7), shape), rowsOf(quotients, shape)}}});
  }
}

/// exp(x - m), m the largest of the row, and exp(-|x|).
void addExponentials(std::vector<Case> &cases) {
  std::mt19937 random(12);
  std::vector<float> x, less, decay;
  for (int row = 0; row < 2; ++row) {
    std::vector<float> numbers;
    for (int i = 0; i < kColumns; ++i)
      numbers.push_back(static_cast<float>(random() % 40000) / 100 - 200);
    if (row == 1) numbers[3] = -HUGE_VALF, numbers[100] = NAN;
    float most = -HUGE_VALF;
    for (const float number : numbers) most = std::fmax(most, number); // a NaN loses
    for (const float number : numbers) {
      x.push_back(number);
      less.push_back(math::exp<math::Single>(number - most));
      decay.push_back(math::exp<math::Single>(-std::fabs(number)));
    }
  }
  const ir::Shape shape{2, kColumns};
  const Tile blank = rowsOf(std::vector<float>(x.size(), 7), shape);
  cases.push_back(
      {"exponentials of what is never positive",
       "kernel @case(%x: view<const f32, 2>, %y: view<f32, 2>, %z: view<f32, 2>) stage tiles {\n"
       "  %0 = constant 0 : i32\n  %v = view.load %x, %0, %0 : f32[2x256]\n"
       "  %m = reduce %v [combine = max, axis = 1] : f32[2]\n  %r = reshape %m : f32[2x1]\n"
       "  %b = broadcast %r : f32[2x256]\n  %s = sub %v, %b : f32[2x256]\n"
       "  %e = exp %s : f32[2x256]\n  view.store %y, %e, %0, %0\n"
       "  %a = abs %v : f32[2x256]\n  %n = neg %a : f32[2x256]\n"
       "  %d = exp %n : f32[2x256]\n  view.store %z, %d, %0, %0\n}\n",
       {{rowsOf(x, shape)}, {blank, rowsOf(less, shape)}, {blank, rowsOf(decay, shape)}}});
}

} // namespace

std::vector<Case> rowCases() {
  std::vector<Case> cases;
  addQuotients(cases);
  addExponentials(cases);
  return cases;
}

} // namespace imbrex::semantics
