#include "backend/math/elementary.h"
#include "backend/math/native.h"
#include "tests/support/semantics.h"

#include <algorithm>
#include <cmath>

namespace imbrex::semantics {
namespace {

using ir::ElementKind;

/// Known answers of Random123 1.14 (kat_vectors, philox4x32 10).
void addKnownAnswers(std::vector<Case> &cases) {
  struct Answer {
    std::uint64_t key;
    std::vector<std::uint64_t> counter, words;
  };
  const Answer answers[] = {
      {0, {0, 0, 0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {~std::uint64_t{0},
       {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {0x299f31d0a4093822,
       {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  const auto words = [](std::uint64_t bits) { return Tile{ElementKind::U32, {1}, {bits}}; };
  for (const Answer &answer : answers) {
    OpCase question{"a known answer of Philox4x32-10",
                    "philox",
                    "",
                    {{ElementKind::U64, {}, {answer.key}}},
                    {}};
    for (const std::uint64_t word : answer.counter) question.inputs.push_back(words(word));
    for (const std::uint64_t word : answer.words) question.outputs.push_back(words(word));
    cases.push_back(toCase(question));
  }
  cases.push_back(
      toCase(OpCase{"counter words that are not given are 0",
                    "philox",
                    "",
                    {{ElementKind::U64, {}, {0}}, words(0)},
                    {words(0x6627e8d5), words(0xe169c58d), words(0xbc57ac4c), words(0x9b00dbd8)}}));
}

/// `rand` as the front end composes it: a word as an i32 x, -x - 1 of a negative one, times
/// 4.6566127342e-10.
Case uniform() {
  const auto number = [](std::int32_t x) {
    return static_cast<double>(static_cast<float>(x < 0 ? -x - 1 : x) * 4.6566127342e-10f);
  };
  return {"rand",
          R"(kernel @case(%out: view<f32, 1>) stage tiles {
  %key = constant 0 : u64
  %counter = constant 0 : u32
  %w0, %w1, %w2, %w3 = philox %key, %counter : u32, u32, u32, u32
  %a = join %w0, %w1 : u32[2]
  %b = join %w2, %w3 : u32[2]
  %all = concat %a, %b : u32[4]
  %x = bitcast %all : i32[4]
  %zero = constant 0 : i32[4]
  %flipped = not %x : i32[4]
  %negative = lt %x, %zero : bool[4]
  %magnitude = select %negative, %flipped, %x : i32[4]
  %number = cast %magnitude : f32[4]
  %step = constant 4.6566127342e-10 : f32[4]
  %y = mul %number, %step : f32[4]
  %first = constant 0 : i32
  view.store %out, %y, %first
}
)",
          {{tile(ElementKind::F32, {4}, {0, 0, 0, 0}),
            tile(ElementKind::F32, {4},
                 {number(0x6627e8d5), number(static_cast<std::int32_t>(0xe169c58d)),
                  number(static_cast<std::int32_t>(0xbc57ac4c)),
                  number(static_cast<std::int32_t>(0x9b00dbd8))})}}};
}

/// `randn` as the front end composes it: Box-Muller on two uniform numbers.
Case normal() {
  using math::Single;
  constexpr float kTurn = 6.283185307179586f;
  const auto pair = [](float u1, float u2) {
    const float radius = std::sqrt(math::log<Single>(std::max(u1, 1.0e-7f)) * -2.0f);
    const float angle = u2 * kTurn;
    return std::vector<double>{radius * math::cos<Single>(angle),
                               radius * math::sin<Single>(angle)};
  };
  const std::vector<std::pair<float, float>> uniform{{0.0f, 0.25f}, {0.5f, 0.0f}, {0.999f, 0.75f}};
  Case question{"randn",
                R"(kernel @case(%u: view<const f32, 1>, %v: view<const f32, 1>, %out: view<f32, 2>)
    stage tiles {
  %first = constant 0 : i32
  %u1 = view.load %u, %first : f32[3]
  %u2 = view.load %v, %first : f32[3]
  %least = constant 1.0e-7 : f32[3]
  %turn = constant 6.283185307179586 : f32[3]
  %factor = constant -2 : f32[3]
  %angle = mul %u2, %turn : f32[3]
  %above = max %u1, %least : f32[3]
  %log = log %above : f32[3]
  %square = mul %log, %factor : f32[3]
  %radius = sqrt %square : f32[3]
  %cos = cos %angle : f32[3]
  %sin = sin %angle : f32[3]
  %x = mul %radius, %cos : f32[3]
  %y = mul %radius, %sin : f32[3]
  %both = join %x, %y : f32[3x2]
  view.store %out, %both, %first, %first
}
)",
                {}};
  std::vector<double> firsts, seconds, results;
  for (const auto &[u1, u2] : uniform) {
    firsts.push_back(u1), seconds.push_back(u2);
    for (const double number : pair(u1, u2)) results.push_back(number);
  }
  question.arguments = {{tile(ElementKind::F32, {3}, firsts)},
                        {tile(ElementKind::F32, {3}, seconds)},
                        {tile(ElementKind::F32, {3, 2}, std::vector<double>(6, 0)),
                         tile(ElementKind::F32, {3, 2}, results)}};
  return question;
}

} // namespace

std::vector<Case> randomCases() {
  std::vector<Case> cases;
  addKnownAnswers(cases);
  cases.push_back(uniform());
  cases.push_back(normal());
  return cases;
}

} // namespace imbrex::semantics
