#include "backend/machine/role_registers.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

using namespace imbrex;
using namespace imbrex::machine;
using enum RegisterChange;

namespace {

const machine::Machine &hopper() { return *machine::findMachine("sm_90a"); }

std::string rendered(const std::vector<RoleRegisters> &roles, const RegisterLaunch &launch) {
  std::string text;
  for (const Diagnostic &diagnostic : validateRegisters(roles, launch, hopper()))
    text += render(diagnostic);
  return text;
}

/// One warp that loads, in a group of its own, and the rest of the warps that compute.
std::vector<RoleRegisters> loadAndCompute(std::int32_t load, std::int32_t compute,
                                          std::int32_t computeWarps = 8) {
  return {{.name = "load", .change = Releases, .registers = load},
          {.name = "compute",
           .firstWarp = 4,
           .warps = computeWarps,
           .change = Takes,
           .registers = compute}};
}

bool has(const std::vector<RegisterSplit> &splits, std::int32_t producer, std::int32_t consumer) {
  return std::ranges::any_of(splits, [&](const RegisterSplit &split) {
    return split.producer == producer && split.consumer == consumer;
  });
}

} // namespace

TEST_CASE("a launch gives each thread its part of the core, in steps of 8") {
  CHECK(launchRegisters({384}, hopper()) == 168);
  CHECK(launchRegisters({512}, hopper()) == 128);
  CHECK(launchRegisters({384, 2}, hopper()) == 80);
  CHECK(launchRegisters({256}, hopper()) == 256);
  CHECK(launchRegisters({128}, hopper()) == 256); // no thread can have more
  CHECK(launchRegisters({0}, hopper()) == 0);
  CHECK(launchRegisters({1025}, hopper()) == 0);
  CHECK(launchRegisters({384, 0}, hopper()) == 0);
}

TEST_CASE("the well-known splits are accepted") {
  CHECK(rendered(loadAndCompute(40, 232), {384}).empty());
  CHECK(rendered(loadAndCompute(24, 240), {384}).empty());
  CHECK(rendered(loadAndCompute(32, 160, 12), {512}).empty());
  CHECK(
      rendered({{.name = "load", .warps = 8, .change = Releases, .registers = 24},
                {.name = "compute", .firstWarp = 8, .warps = 8, .change = Takes, .registers = 224}},
               {512})
          .empty());
  CHECK(rendered({{.name = "all", .warps = 12}}, {384}).empty());
  CHECK(rendered({}, {384}).empty());
}

TEST_CASE("one more step for the consumers overruns the pool") {
  CHECK(
      rendered(loadAndCompute(40, 240), {384}) ==
      "imbrex: error: the roles need 66560 registers, but a block of 384 threads has 64512 (168 a "
      "thread) where one block is on a core\n"
      "  hint: take at most 232 instead of 240\n");
}

TEST_CASE("T10: 24 and 240 registers overrun the pool of 512 threads") {
  CHECK(
      rendered(loadAndCompute(24, 240, 12), {512}) ==
      "imbrex: error: the roles need 95232 registers, but a block of 512 threads has 65536 (128 a "
      "thread) where one block is on a core\n"
      "  hint: take at most 160 instead of 240\n");
}

TEST_CASE("T9: two blocks on a core halve the pool") {
  CHECK(rendered(loadAndCompute(40, 232), {.threads = 384, .minBlocks = 2}) ==
        "imbrex: error: the roles need 64512 registers, but a block of 384 threads has 30720 (80 a "
        "thread) where 2 blocks are on a core\n"
        "  hint: take at most 96 instead of 232\n");
  CHECK(rendered(loadAndCompute(40, 96), {.threads = 384, .minBlocks = 2}).empty());
}

TEST_CASE("T12: a producer whose threads copy has too few with 24") {
  std::vector<RoleRegisters> roles = loadAndCompute(24, 240);
  roles[0].plainCopies = true;
  CHECK(rendered(roles, {384}) ==
        "imbrex: error: role 'load' copies with its own threads, for which 24 registers a thread "
        "are too few\n"
        "  hint: take 32 or more, or let the copies be asynchronous\n");
  roles = loadAndCompute(32, 232);
  roles[0].plainCopies = true;
  CHECK(rendered(roles, {384}).empty());
}

TEST_CASE("numbers that the instruction cannot have are refused") {
  for (const std::int32_t count : {0, 16, 23, 36, 257, 264}) {
    CAPTURE(count);
    CHECK(
        rendered(loadAndCompute(40, count), {384}).find("is not a multiple of 8 from 24 to 256") !=
        std::string::npos);
  }
  CHECK(
      rendered(loadAndCompute(36, 232), {384}) ==
      "imbrex: error: role 'load' has 36 registers a thread, which is not a multiple of 8 from 24 "
      "to 256\n"
      "  hint: take 32\n");
}

TEST_CASE("who releases registers has fewer afterwards, and who takes them more") {
  CHECK(rendered(loadAndCompute(176, 232), {384}) ==
        "imbrex: error: role 'load' releases registers, but 176 a thread are more than the 168 of "
        "the launch\n");
  CHECK(rendered(loadAndCompute(40, 160), {384}) ==
        "imbrex: error: role 'compute' takes registers, but 160 a thread are fewer than the 168 of "
        "the launch\n");
  CHECK(rendered(loadAndCompute(168, 168), {384}).empty());
}

TEST_CASE("four warps have one number") {
  std::vector<RoleRegisters> roles = loadAndCompute(40, 232);
  roles.push_back({.name = "bias", .firstWarp = 2, .change = Releases, .registers = 40});
  CHECK(rendered(roles, {384}).empty()); // and the group counts once
  roles.back().registers = 32;
  CHECK(rendered(roles, {384}) ==
        "imbrex: error: roles 'load' and 'bias' share the warps from 0 to 3, but have 40 and 32 "
        "registers a thread\n"
        "  hint: registers are set for 4 warps at once: give both the same number, or warps of "
        "their own\n");
  roles.back() = {.name = "bias", .firstWarp = 3};
  CHECK(rendered(roles, {384}).find("but have 40 and 168") != std::string::npos);
  roles.back() = {
      .name = "epilogue", .firstWarp = 3, .warps = 2, .change = Releases, .registers = 40};
  CHECK(rendered(roles, {384}).find("roles 'compute' and 'epilogue' share the warps from 4 to 7") !=
        std::string::npos);
}

TEST_CASE("a group of fewer than four warps cannot change its registers") {
  CHECK(rendered(loadAndCompute(40, 232, 6), {320}) ==
        "imbrex: error: role 'compute' sets registers in the warps from 4 to 9, but the block ends "
        "at warp 9\n"
        "  hint: registers are set for 4 warps at once: round the block up to a multiple\n");
  CHECK(rendered({{.name = "compute", .warps = 4, .change = Takes, .registers = 200},
                  {.name = "rest", .firstWarp = 8, .warps = 2}},
                 {320})
            .empty());
}

TEST_CASE("roles run on warps that the block has") {
  CHECK(rendered(loadAndCompute(40, 232, 9), {384}) ==
        "imbrex: error: role 'compute' runs on the warps from 4 to 12, but the block has 12\n");
  CHECK_FALSE(rendered({{.name = "none", .warps = 0}}, {384}).empty());
  CHECK_FALSE(rendered({{.name = "before", .firstWarp = -1}}, {384}).empty());
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  CHECK(rendered(
            {{.name = "far", .firstWarp = kMost, .warps = kMost, .change = Takes, .registers = 7}},
            {320}) == "imbrex: error: role 'far' runs on the warps from 2147483647 to 4294967293, "
                      "but the block has 10\n");
}

TEST_CASE("launches with nothing to split are refused") {
  CHECK(rendered({}, {1056}) ==
        "imbrex: error: no registers can be split between 1056 threads in each of 1 blocks on a "
        "core of sm_90a\n"
        "  hint: sm_90a launches from 1 to 1024 threads, and each must get 24 registers or more\n");
  CHECK_FALSE(rendered({}, {0}).empty());
  CHECK_FALSE(rendered({}, {384, -1}).empty());
  CHECK_FALSE(rendered({}, {1024, 4}).empty()); // 16 each
}

TEST_CASE("the splits of 384 threads have 24 and 240 first, and 40 with 232") {
  const auto splits = splitsFor({}, hopper());
  REQUIRE(splits.size() > 2);
  CHECK(splits[0] == RegisterSplit{24, 240, 0});
  CHECK(splits[1] == RegisterSplit{40, 232, 0});
  CHECK(splits[2] == RegisterSplit{32, 232, 1024});
  CHECK(has(splits, 168, 168));
}

TEST_CASE("the splits of 512 threads have 32 with 160 for one producer, 24 with 224 for two") {
  const auto oneAndThree = splitsFor({.consumerGroups = 3}, hopper());
  CHECK(oneAndThree.front() == RegisterSplit{32, 160, 0});
  const auto twoAndTwo = splitsFor({.producerGroups = 2}, hopper());
  CHECK(has(twoAndTwo, 24, 224));
  CHECK(twoAndTwo.front() == RegisterSplit{24, 232, 0}); // more than that needs
}

TEST_CASE("producers whose threads copy get no split with 24") {
  const auto splits = splitsFor({.plainCopies = true}, hopper());
  CHECK(splits.front() == RegisterSplit{40, 232, 0});
  for (const RegisterSplit &split : splits) CHECK(split.producer >= 32);
}

TEST_CASE("requests without groups, or with too many, have no split") {
  CHECK_FALSE(splitsFor({.consumerGroups = 7}, hopper()).empty()); // 1024 threads
  CHECK(splitsFor({.consumerGroups = 8}, hopper()).empty());
  CHECK(splitsFor({.producerGroups = 0}, hopper()).empty());
  CHECK(splitsFor({.consumerGroups = 0}, hopper()).empty());
  CHECK(splitsFor({.producerGroups = 4, .consumerGroups = 5}, hopper()).empty());
  CHECK(splitsFor({.producerGroups = 4, .consumerGroups = 4, .minBlocks = 4}, hopper()).empty());
}

TEST_CASE("splits are the pairs that validation accepts, all of them") {
  for (std::int32_t producers = 1; producers <= 3; ++producers)
    for (std::int32_t consumers = 1; consumers <= 4; ++consumers)
      for (std::int32_t minBlocks = 1; minBlocks <= 3; ++minBlocks)
        for (const bool copies : {false, true}) {
          CAPTURE(producers);
          CAPTURE(consumers);
          CAPTURE(minBlocks);
          CAPTURE(copies);
          const auto splits = splitsFor({producers, consumers, minBlocks, copies}, hopper());
          std::size_t accepted = 0;
          for (std::int32_t producer = 0; producer <= 272; producer += 4)
            for (std::int32_t consumer = 0; consumer <= 272; consumer += 4) {
              const std::vector<RoleRegisters> roles{
                  {"load", 0, 4 * producers, Releases, producer, copies},
                  {"compute", 4 * producers, 4 * consumers, Takes, consumer}};
              const RegisterLaunch launch{128 * (producers + consumers), minBlocks};
              const bool legal = validateRegisters(roles, launch, hopper()).empty();
              accepted += legal;
              if (legal != has(splits, producer, consumer)) {
                CAPTURE(producer);
                CAPTURE(consumer);
                FAIL_CHECK("validation and enumeration disagree");
              }
            }
          CHECK(splits.size() == accepted);
        }
}
