#include "backend/schedule/blocks/attention_budget.h"

#include <doctest/doctest.h>

using namespace imbrex;
using namespace imbrex::schedule;

namespace {

std::string rendered(const AttentionConfig &config) {
  std::string text;
  for (const Diagnostic &diagnostic : validate(config)) text += render(diagnostic);
  return text;
}

bool fits(const AttentionConfig &config) {
  for (const Diagnostic &diagnostic : validate(config))
    if (info(diagnostic.kind).severity == Severity::Error) return false;
  return true;
}

} // namespace

TEST_CASE("the budget is four terms, which add up to the table's examples") {
  CHECK(attentionBudget({.block = 16, .stages = 1}).total() == 26624);
  CHECK(attentionBudget({.block = 32, .stages = 1}).total() == 53248);
  CHECK(attentionBudget({.block = 32, .stages = 2}).total() == 69632);
  CHECK(attentionBudget({.block = 64, .stages = 2}).total() == 151552);
  CHECK(toText(attentionBudget({.block = 32, .stages = 2})) ==
        "input tiles 32768 + accumulators 24576 + attention tiles 8192 + overhead 4096");
  const AttentionBudget bytes = attentionBudget({.block = 16, .headDim = 128, .elementBytes = 1});
  CHECK(bytes.inputTiles == 4 * 16 * 128);
  CHECK(bytes.accumulators == 3 * 16 * 128 * 4); // f32, whatever the elements are
}

TEST_CASE("the limit is the machine's") {
  CHECK(attentionMachine().sharedMemoryBytes == 101'376);
  CHECK(kAttentionBudgetBytes < attentionMachine().sharedMemoryBytes);
}

TEST_CASE("a configuration of the table's safe ones passes without a word") {
  CHECK(rendered({.block = 16, .stages = 1, .warps = 4}).empty());
  CHECK(rendered({.block = 16, .headDim = 128}).empty());
}

TEST_CASE("one that needs more than a launch gives by itself says so") {
  CHECK(rendered({.block = 32, .stages = 2, .warps = 8}) ==
        "imbrex: note: an attention kernel needs 69632 bytes of shared memory, and sm_120a gives "
        "49152 without asking\n  hint: the launch must ask for them\n");
  CHECK(fits({.block = 32, .stages = 2, .warps = 8}));
}

TEST_CASE("what exceeds the machine is refused by the machine's limit") {
  CHECK(rendered({.block = 64, .stages = 2, .warps = 8}) ==
        "imbrex: error: an attention kernel with blocks of 64 needs 151552 bytes of shared memory "
        "(input tiles 65536 + accumulators 49152 + attention tiles 32768 + overhead 4096), but "
        "sm_120a has 101376\n"
        "  hint: use blocks of at most 32, or fewer stages\n"
        "imbrex: note: the block size of an attention kernel is 64, and at most 32 is the advice: "
        "the attention tiles grow with its square\n");
}

TEST_CASE("what exceeds the budget alone is refused by the budget") {
  // The table's own answer for one stage, which is not within its budget.
  CHECK(rendered({.block = 56, .stages = 1}) ==
        "imbrex: error: an attention kernel with blocks of 56 needs 100864 bytes of shared memory "
        "(input tiles 28672 + accumulators 43008 + attention tiles 25088 + overhead 4096), more "
        "than the budget of 96000\n"
        "  hint: use blocks of at most 32, or fewer stages; the rest of what sm_120a has is kept "
        "for alignment\n"
        "imbrex: note: the block size of an attention kernel is 56, and at most 32 is the advice: "
        "the attention tiles grow with its square\n");
  CHECK(fits({.block = 53, .stages = 1}));
  CHECK_FALSE(fits({.block = 54, .stages = 1}));
  CHECK(fits({.block = 43, .stages = 2}));
  CHECK_FALSE(fits({.block = 44, .stages = 2}));
}

TEST_CASE("where no block fits, the hint does not offer one") {
  CHECK(rendered({.block = 2, .headDim = 128, .stages = 60})
            .find("  hint: use blocks of at most 1, or fewer stages\n") != std::string::npos);
  const std::string text = rendered({.block = 1, .headDim = 128, .stages = 90});
  CHECK(text.find("  hint: use fewer stages; the rest") != std::string::npos);
  CHECK(rendered({.block = 1, .headDim = 128, .stages = 900}).find("  hint: use fewer stages\n") !=
        std::string::npos);
}

TEST_CASE("advice is no error: blocks, stages and warps beyond it run where the memory suffices") {
  const AttentionConfig config{.block = 48, .headDim = 32, .stages = 3, .warps = 16};
  CHECK(fits(config));
  CHECK(rendered(config) ==
        "imbrex: note: an attention kernel needs 77824 bytes of shared memory, and sm_120a gives "
        "49152 without asking\n  hint: the launch must ask for them\n"
        "imbrex: note: the block size of an attention kernel is 48, and at most 32 is the advice: "
        "the attention tiles grow with its square\n"
        "imbrex: note: the number of stages of an attention kernel is 3, and at most 2 is the "
        "advice: each has input tiles of its own\n"
        "imbrex: note: the number of warps of an attention kernel is 16, and at most 8 is the "
        "advice: more gain little\n");
  // A 64 x 64 attention tile is 16 KB, which fits where the head is small.
  CHECK(fits({.block = 64, .headDim = 16}));
}

TEST_CASE("more threads than a block has are an error") {
  CHECK(fits({.warps = 32}));
  CHECK(rendered({.warps = 33}) ==
        "imbrex: error: 33 warps are 1056 threads, but a block has at most 1024 on sm_120a\n"
        "  hint: use at most 32 warps\n"
        "imbrex: note: the number of warps of an attention kernel is 33, and at most 8 is the "
        "advice: more gain little\n");
}

TEST_CASE("a head dimension beyond 128 is refused, for heads are to be split") {
  CHECK(fits({.block = 16, .headDim = 128}));
  CHECK(rendered({.block = 1, .headDim = 129}) ==
        "imbrex: error: a head dimension of 129 is beyond 128\n"
        "  hint: split each head: run parts of at most 128 and add the products of queries and "
        "keys\n");
}

TEST_CASE("sizes that mean nothing are named one by one, and nothing is made of them") {
  CHECK(rendered({.block = 0, .headDim = -1, .stages = 16385, .warps = 0, .elementBytes = 0}) ==
        "imbrex: error: the block size of an attention kernel is 0, which is not from 1 to 16384\n"
        "imbrex: error: the head dimension of an attention kernel is -1, which is not from 1 to "
        "16384\n"
        "imbrex: error: the number of stages of an attention kernel is 16385, which is not from 1 "
        "to 16384\n"
        "imbrex: error: the number of warps of an attention kernel is 0, which is not from 1 to "
        "16384\n"
        "imbrex: error: the element size in bytes of an attention kernel is 0, which is not from 1 "
        "to 16384\n");
  CHECK_FALSE(fits({.block = 16384, .headDim = 16384, .stages = 16384, .elementBytes = 16384}));
}

TEST_CASE("every head dimension up to 128 has a safe configuration, and no other") {
  for (std::int64_t headDim = 1; headDim <= 128; ++headDim) {
    CAPTURE(headDim);
    const AttentionConfig config = safeConfig(headDim).value();
    CHECK(config ==
          AttentionConfig{
              .block = headDim <= 64 ? 32 : 16, .headDim = headDim, .stages = 1, .warps = 4});
    CHECK(fits(config));
  }
  CHECK(render(safeConfig(129).error()) ==
        "imbrex: error: a head dimension of 129 is beyond 128\n"
        "  hint: split each head: run parts of at most 128 and add the products of queries and "
        "keys\n");
  for (const std::int64_t headDim : {std::int64_t{0}, std::int64_t{-64}})
    CHECK(render(safeConfig(headDim).error()) ==
          "imbrex: error: the head dimension of an attention "
          "kernel is " +
              std::to_string(headDim) + ", which is not from 1 to 128\n");
}

TEST_CASE("the largest blocks are solved, and stand beside the table's") {
  CHECK(largestBlocksText() == "stages  largest block  as a power of two  the table's\n"
                               "     1           53.7                 32           56\n"
                               "     2           43.0                 32           40\n");
}

TEST_CASE("the largest block is where the budget is reached") {
  for (std::int64_t headDim = 8; headDim <= 128; headDim += 8)
    for (std::int64_t stages = 1; stages <= 4; ++stages)
      for (const std::int64_t elementBytes : {1, 2, 4}) {
        CAPTURE(headDim);
        CAPTURE(stages);
        CAPTURE(elementBytes);
        AttentionConfig config{.headDim = headDim, .stages = stages, .elementBytes = elementBytes};
        const auto block = static_cast<std::int64_t>(largestBlock(config));
        config.block = block;
        CHECK(attentionBudget(config).total() <= kAttentionBudgetBytes);
        config.block = block + 1;
        CHECK(attentionBudget(config).total() > kAttentionBudgetBytes);
      }
  CHECK(largestBlock({}, 4095) < 0);
  CHECK(largestBlock({}, 4096) == 0);
}
