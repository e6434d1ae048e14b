#include "backend/ir/constant_text.h"
#include "backend/math/elementary.h"
#include "backend/pipeline.h"
#include "llvm/Support/FormatVariadic.h"
#include "tests/support/parsed_kernel.h"
#include "tests/unit/host/launching.h"
#include "tests/unit/math/samples.h"

#include <doctest/doctest.h>

/// Exponentials, as this processor scales them, have the bits that backend/math gives.
namespace imbrex::host {
namespace {

using math::Double;
using math::Single;

std::string textOf(std::size_t lanes, bool isDouble) {
  return (isDouble ? "f64[" : "f32[") + std::to_string(lanes) + "]";
}

/// `made` makes a tile %y of the tile %x, in a loop of vectors with so many lanes, or one.
template <class Float>
std::vector<Float> computed(std::string made, std::vector<Float> x, std::size_t lanes) {
  constexpr bool isDouble = sizeof(Float) == sizeof(double);
  x.resize((x.size() + lanes - 1) / lanes * lanes);
  for (std::size_t at = 0; (at = made.find("TILE", at)) != std::string::npos;)
    made.replace(at, 4, textOf(lanes, isDouble));
  const std::string view = isDouble ? "f64, 1>" : "f32, 1>";
  ir::Kernel kernel = testing::parsedKernel(
      "kernel @k(%from: view<const " + view + ", %to: view<" + view +
      ") stage tiles {\n  %block = program_id : i32\n  %x = view.load %from, %block : " +
      textOf(lanes, isDouble) + "\n" + made + "  view.store %to, %y, %block\n}\n");
  Diagnostics diagnostics;
  REQUIRE(runPasses(kernel, hostPipeline(), diagnostics));
  std::vector<Float> y(x.size());
  const auto size = static_cast<std::int64_t>(x.size());
  launch(kernel, {.extents = {static_cast<std::int32_t>(x.size() / lanes), 1, 1}},
         {viewOf(x, {size}), viewOf(y, {size})});
  return y;
}

template <class Float>
std::vector<Float> asked(bool isNeverPositive) {
  std::vector<Float> x = samples::specials<Float>();
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) x.push_back(samples::random<Float>(random));
  // Where results end: normal ones, subnormal ones, and all.
  const double least = sizeof(Float) == sizeof(float) ? -75 : -650;
  for (int i = 0; i < 200000; ++i)
    x.push_back(
        static_cast<Float>(least * (1 + std::ldexp(static_cast<double>(random() >> 11), -53))));
  for (const double far : {-1e4, -1e9, -1e30}) x.push_back(static_cast<Float>(far));
  for (std::size_t i = 0; i < 64; ++i) x.push_back(Float(-1e30)); // whole vectors of it
  if (isNeverPositive)
    for (Float &value : x) value = -std::fabs(value);
  return x;
}

template <class P>
void compare(const std::string &made, typename P::Float (*expected)(typename P::Float),
             bool isNeverPositive = false) {
  const auto x = asked<typename P::Float>(isNeverPositive);
  for (const std::size_t lanes : {2, 4, 8, 16, 64, 100}) {
    CAPTURE(lanes);
    const auto y = computed(made, x, lanes);
    std::int64_t others = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      others += samples::areAlike(y[i], expected(x[i])) ? 0 : 1;
    CHECK(others == 0);
  }
}

const std::string kExp = "  %y = exp %x : TILE\n", kExp2 = "  %y = exp2 %x : TILE\n";
/// Known to be never positive.
const std::string kExpBelow = "  %a = abs %x : TILE\n  %n = neg %a : TILE\n  %y = exp %n : TILE\n";

} // namespace

TEST_CASE("exponentials have the same bits in vectors of any width") {
  compare<Single>(kExp, math::exp<Single>);
  compare<Single>(kExp2, math::exp2<Single>);
  compare<Double>(kExp, math::exp<Double>);
  compare<Double>(kExp2, math::exp2<Double>);
}

TEST_CASE("exponentials of what is never positive have the same bits in vectors of any width") {
  compare<Single>(kExpBelow, math::exp<Single>, true);
  compare<Double>(kExpBelow, math::exp<Double>, true);
}

TEST_CASE("what bounds an exponential's argument stays where it is used elsewhere") {
  // By the same bounds as exp, so that both are one value; without the lower one it would be x.
  constexpr float kLow = math::kLeastExponent<Single> * Single::kLn2;
  const auto constant = [](const char *name, float value) {
    return llvm::formatv("  %{0} = constant {1} : TILE\n", name,
                         ir::constantToText(ir::Type::tile(ir::ElementKind::F32),
                                            std::bit_cast<std::uint32_t>(value)))
        .str();
  };
  const std::string made = constant("low", kLow) + constant("high", Single::kExpHigh) +
                           "  %m = min.nan %x, %high : TILE\n  %c = max.nan %m, %low : TILE\n"
                           "  %e = exp %x : TILE\n  %y = add %e, %c : TILE\n";
  const std::vector<float> x{-1e30F, -1000.0F, -177.0F, -176.0F, -100.0F, -1.0F, 0.0F, 1.0F};
  const std::vector<float> y = computed(made, x, 16);
  for (std::size_t i = 0; i < x.size(); ++i)
    CHECK(y[i] == math::exp<Single>(x[i]) + std::max(x[i], kLow));
}

} // namespace imbrex::host
