#include "tests/kernels/topk_launches.h"

#include <doctest/doctest.h>

#include <limits>
#include <random>

using namespace imbrex;
using namespace imbrex::testing;

// What the selection is for: the blocks of keys that a sparse attention looks at, when it decodes
// (a query per sequence) and in prefill (a query per position), with blocks that are always kept.

namespace {

constexpr float kScale = 0.08838834764831845F;
constexpr float kInitial = 1e30F, kLocal = 1e29F; // of the first blocks, and of the last
constexpr float kBehind = 5; // keys behind a sequence's end: to be seen if read

/// scores(head, sequence, block) = the largest product of the query with a key of the block.
template <int Dim, int Block>
struct block_scores {
  void operator()(view<const bf16, 3> queries, view<const bf16, 4> keys, view<const i32, 1> lengths,
                  scalar<i32> initial, scalar<i32> local, view<f32, 3> scores) const {
    auto [block, head, sequence] = program_id<3>();
    scalar<i32> length = load(lengths.data() + sequence);
    scalar<i32> blocks = cdiv(length, Block);
    auto query = cast<f32>(reshape<1, Dim>(queries[box<1, 1, Dim>(sequence, head, 0)]));
    auto tile =
        cast<f32>(reshape<Block, Dim>(keys[box<1, 1, Block, Dim>(sequence, head, block, 0)]));
    auto is_key = block * Block + arange<0, Block>() < length;
    scalar<f32> best = max(where(is_key, sum<1>(tile * query) * kScale, -constants::infinity));
    scalar<f32> kept = where(block < initial, kInitial, best);
    scalar<f32> score = where(block >= max(blocks - local, 0), kLocal, kept);
    IMBREX_IF(block < blocks) {
      scores[box<1, 1, 1>(head, sequence, block)] = full<f32, 1, 1, 1>(score);
    }
  }
};

struct Decoding {
  std::int64_t heads;
  std::vector<std::int32_t> lengths;
  std::int64_t k;
  std::int32_t initial;
  std::int32_t local;
  std::int32_t zeroed = -1; ///< All keys before this block are zero, if it is one.
};

std::int64_t blocksOf(std::int32_t length, std::int64_t block) { return cdiv(length, block); }

/// The score in float64.
template <int Dim, int Block>
double scoreOf(const buffer<bf16> &queries, const buffer<bf16> &keys, const Decoding &asked,
               std::int64_t sequence, std::int64_t head, std::int64_t block) {
  const std::int64_t length = asked.lengths[static_cast<std::size_t>(sequence)];
  const std::int64_t blocks = cdiv(length, std::int64_t{Block});
  if (block >= std::max<std::int64_t>(0, blocks - asked.local)) return double{kLocal};
  if (block < asked.initial) return double{kInitial};
  double best = -std::numeric_limits<double>::infinity();
  for (std::int64_t key = block * Block; key < std::min(length, (block + 1) * Block); ++key) {
    double product = 0;
    for (int d = 0; d < Dim; ++d)
      product += static_cast<double>(static_cast<float>(queries(sequence, head, d))) *
                 static_cast<double>(static_cast<float>(keys(sequence, head, key, d)));
    best = std::max(best, product * double{kScale});
  }
  return best;
}

template <int Dim, int Block>
void decode(device on, const Decoding &asked) {
  const auto sequences = std::ssize(asked.lengths);
  const std::int64_t most =
      cdiv(std::int64_t{std::ranges::max(asked.lengths)}, std::int64_t{Block});
  buffer<bf16> queries(sequences, asked.heads, Dim),
      keys(sequences, asked.heads, most * Block, Dim);
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (bf16 &number : queries) number = bf16(normal(random));
  keys.fill(bf16(kBehind));
  for (std::int64_t s = 0; s < sequences; ++s)
    for (std::int64_t h = 0; h < asked.heads; ++h)
      for (std::int64_t key = 0; key < asked.lengths[static_cast<std::size_t>(s)]; ++key)
        for (int d = 0; d < Dim; ++d)
          keys(s, h, key, d) = bf16(key / Block < asked.zeroed ? 0 : normal(random));
  buffer<i32> lengths(sequences), counts(asked.heads, sequences);
  std::ranges::copy(asked.lengths, lengths.begin());
  for (std::int64_t h = 0; h < asked.heads; ++h)
    for (std::int64_t s = 0; s < sequences; ++s)
      counts(h, s) = static_cast<i32>(blocksOf(asked.lengths[static_cast<std::size_t>(s)], Block));

  const std::int64_t rows = asked.heads * sequences;
  buffer<f32> scores(asked.heads, sequences, most);
  scores.fill(kInitial * 2); // what lies behind a row's count would win
  buffer<i32> indices(rows, asked.k);
  jit(block_scores<Dim, Block>{})(stream_ref(on), grid(most, asked.heads, sequences), queries, keys,
                                  lengths, asked.initial, asked.local, scores);
  kernels::block_select_topk(on, scores.view({rows, most}), asked.k, indices,
                             {.counts = std::as_const(counts).view({rows})});

  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t head = row / sequences, sequence = row % sequences;
    const std::int64_t blocks = counts[row];
    CAPTURE(head);
    CAPTURE(sequence);
    const std::span<const f32> computed(std::as_const(scores).data() + row * most,
                                        static_cast<std::size_t>(blocks));
    for (std::int64_t block = 0; block < blocks; ++block) {
      const double wanted = scoreOf<Dim, Block>(queries, keys, asked, sequence, head, block);
      const double got = double{computed[static_cast<std::size_t>(block)]};
      if (std::fabs(wanted) >= double{kLocal} / 2)
        REQUIRE(got == wanted);
      else
        REQUIRE(std::fabs(got - wanted) <= 1e-2 + 1e-2 * std::fabs(wanted));
    }
    const Places chosen(indices.begin() + row * asked.k, indices.begin() + (row + 1) * asked.k);
    CHECK(!brokenPromise(computed, true, chosen));
    CHECK(chosen == referenceTopk(computed, asked.k, true));
    const auto isChosen = [&](std::int64_t block) {
      return std::ranges::find(chosen, block) != chosen.end();
    };
    if (asked.k >= asked.initial + asked.local) {
      for (std::int64_t block = 0; block < std::min<std::int64_t>(asked.initial, blocks); ++block)
        CHECK(isChosen(block));
      if (asked.local > 0) CHECK(isChosen(blocks - 1));
    }
    // Blocks of zeros score 0, and where enough others score above, only forced ones are chosen.
    const bool enough = blocks - asked.zeroed >= asked.k;
    for (std::int64_t block = asked.initial; enough && block < asked.zeroed; ++block)
      CHECK(!isChosen(block));
  }
}

} // namespace

TEST_CASE("decoding selects the blocks that the oracle scores highest, and the forced ones") {
  const device on = device::host();
  decode<128, 128>(on, {4, {2560, 4096, 3000}, 16, 0, 1});
  decode<128, 128>(on, {4, {2560, 4096}, 16, 2, 1});
  decode<128, 128>(on, {4, {128, 300}, 16, 0, 1});
  decode<128, 128>(on, {4, {256, 3000}, 16, 0, 0});
  decode<64, 64>(on, {2, {200, 512, 64}, 8, 1, 1});
  decode<64, 64>(on, {2, {17000}, 16, 1, 1});
}

TEST_CASE("zeroed blocks are selected where they are forced, and not otherwise") {
  decode<64, 64>(device::host(), {2, {64 * 40}, 16, 2, 1, 20});
}

TEST_CASE("each position of a prefill selects among the blocks up to its own") {
  constexpr std::int64_t kBlock = 16, kPositions = 700, k = 16;
  const std::int64_t most = cdiv(kPositions, kBlock);
  Rows<f32> rows{.scores = {}, .rows = kPositions, .columns = most};
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (std::int64_t position = 0; position < kPositions; ++position) {
    rows.counts.push_back(static_cast<std::int32_t>(position / kBlock + 1));
    for (std::int64_t block = 0; block < most; ++block)
      rows.scores.push_back(block == position / kBlock ? kLocal : normal(random));
  }
  const auto got = answersOf<f32, i32>(rows, k, [&](auto &scores, auto &counts, auto &indices) {
    kernels::block_select_topk(device::host(), scores, k, indices,
                               {.counts = std::as_const(counts).view({kPositions})});
  });
  CHECK(got == referenceOf(rows, k, true));
  for (std::int64_t position = 0; position < kPositions; ++position)
    CHECK(got[static_cast<std::size_t>(position)][0] == position / kBlock);
}
