#include "tests/run/runtime/cuda_graphs.h"
#include <imbrex/imbrex.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

/// Streams, events and graphs on the GPUs of this machine. Where there is none, a line says so, and
/// ctest calls the test skipped.
namespace imbrex {
namespace {

/// A step that no order but its own leads to the same numbers.
struct Step {
  void operator()(view<i32, 1> x) const {
    auto here = box<1024>(program_id(0));
    x[here] = x[here] * 3 + 1;
  }
};

struct Copied {
  void operator()(view<const i32, 1> x, view<i32, 1> y) const {
    auto here = box<1024>(program_id(0));
    y[here] = x[here] + 7;
  }
};

/// Each block reads what another one wrote in the step before.
struct Turned {
  void operator()(view<const i32, 1> x, view<i32, 1> y, scalar<i32> blocks) const {
    auto next = program_id(0) + 1;
    y[box<1024>(program_id(0))] = x[box<1024>(where(next == blocks, 0, next))] * 3 + 1;
  }
};

std::optional<device> gpuToStream(const char *name) {
  auto found = device::try_by_name(name);
  if (found) return *found;
  std::printf("SKIP: %s\n", found.error().what());
  return std::nullopt;
}

std::vector<i32> ramp(std::size_t count) {
  std::vector<i32> made(count);
  std::iota(made.begin(), made.end(), 0);
  return made;
}

std::vector<i32> stepped(std::vector<i32> x, int steps, i32 added) {
  for (i32 &number : x) {
    auto bits = static_cast<std::uint32_t>(number);
    for (int i = 0; i < steps; ++i) bits = bits * 3 + 1;
    number = static_cast<i32>(bits) + added;
  }
  return x;
}

std::vector<i32> contentOf(const device_buffer<i32> &array) {
  std::vector<i32> content(array.size());
  array.copy_to(content);
  return content;
}

constexpr std::size_t kCount = std::size_t{1} << 24;
constexpr int kBlocks = static_cast<int>(kCount / 1024);

/// Copies that are started lie between launches, in their order.
void copyInOrder(const char *name) {
  const auto on = gpuToStream(name);
  if (!on) return;
  const auto step = jit(Step{});
  const stream queue(*on);
  device_buffer<i32> x(queue, {kCount});
  pinned_buffer<i32> given(*on, kCount), once(*on, kCount), twice(*on, kCount);
  std::iota(given.begin(), given.end(), 0);
  x.start_copy_from(given);
  for (const pinned_buffer<i32> *into : {&once, &twice}) {
    step(queue, grid(kBlocks), x);
    x.start_copy_to(*into);
  }
  queue.synchronize();
  CHECK(std::vector<i32>(once.begin(), once.end()) == stepped(ramp(kCount), 1, 0));
  CHECK(std::vector<i32>(twice.begin(), twice.end()) == stepped(ramp(kCount), 2, 0));
}

void keepOrder(const char *name) {
  const auto on = gpuToStream(name);
  if (!on) return;
  const auto step = jit(Step{});
  const auto copy = jit(Copied{});
  const stream first(*on), second(*on);
  device_buffer<i32> x(first, ramp(kCount));
  device_buffer<i32> y(second, {kCount}), z(*on, {kCount});
  constexpr int kSteps = 200;
  for (int round = 1; round <= 3; ++round) {
    const event before(first);
    for (int i = 0; i < kSteps; ++i) step(first, grid(kBlocks), x);
    const event after(first);
    second.wait(after);
    copy(second, grid(kBlocks), x, y);
    first.wait(event(second)); // before x changes again
    CHECK(after.milliseconds_since(before) > 0);
    copy(stream_ref(*on), grid(kBlocks), x, z); // the default one waits for both
    CHECK(contentOf(y) == stepped(ramp(kCount), kSteps * round, 7));
    CHECK(contentOf(z) == stepped(ramp(kCount), kSteps * round, 7));
  }
}

/// Launches of all kinds, each behind the one in front of it.
void keepOrderOfSpecial(const char *name, std::vector<jit_options> kinds) {
  const auto on = gpuToStream(name);
  if (!on) return;
  constexpr int kFew = 64;
  constexpr std::size_t kNumbers = kFew * 1024;
  std::vector<i32> expected = ramp(kNumbers);
  const stream queue(*on);
  device_buffer<i32> x(queue, expected), y(queue, {kNumbers});
  kinds.emplace_back();
  for (const jit_options &kind : kinds) {
    jit_options options = kind;
    options.on = *on;
    const auto turn = jit(Turned{}, options);
    if (const auto made = turn.try_prepare(*on);
        !made && made.error().code() == "LaunchOfMachine") {
      std::printf("%s\n", made.error().what());
      continue;
    }
    const auto plain = jit(Turned{});
    constexpr int kRounds = 300;
    for (int i = 0; i < kRounds; ++i) {
      turn(queue, grid(kFew), x, y, kFew);
      turn(queue, grid(kFew), y, x, kFew);
      turn(queue, grid(kFew), x, y, kFew);
      plain(queue, grid(kFew), y, x, kFew);
    }
    // A block is as many places on as there were steps.
    constexpr int kSteps = 4 * kRounds;
    std::rotate(expected.begin(), expected.begin() + kSteps % kFew * 1024, expected.end());
    expected = stepped(expected, kSteps, 0);
    CHECK(contentOf(x) == expected);
  }
}

} // namespace

TEST_CASE("the cuda device keeps the order of launches in clusters, cooperative and programmatic") {
  keepOrderOfSpecial("cuda", {{.cooperative = true},
                              {.programmatic = true},
                              {.cluster = {4}},
                              {.cluster = {16}},
                              {.cluster = {2}, .programmatic = true}});
}
TEST_CASE("the hip device keeps the order of cooperative launches") {
  keepOrderOfSpecial("hip", {{.cooperative = true}});
}

TEST_CASE("the cuda device keeps the order of streams") { keepOrder("cuda"); }
TEST_CASE("the hip device keeps the order of streams") { keepOrder("hip"); }
TEST_CASE("the cuda device keeps copies in the order of launches") { copyInOrder("cuda"); }
TEST_CASE("the hip device keeps copies in the order of launches") { copyInOrder("hip"); }

TEST_CASE("the cuda device keeps launches in a graph") {
  const auto on = gpuToStream("cuda");
  if (!on) return;
  const testing::CudaGraphs graphs;
  const auto step = jit(Step{});
  const stream queue(*on);
  device_buffer<i32> x(queue, ramp(kCount)), y(queue, ramp(kCount));
  // Not relaxed, so that the driver refuses whatever would wait or allocate.
  constexpr int kStrict = 0;
  REQUIRE(graphs.begin(queue.native(), kStrict) == 0);
  const auto cold = step.try_launch(queue, grid(kBlocks), x);
  REQUIRE_FALSE(cold);
  CHECK(cold.error().code() == "CapturedLaunch");
  void *graph = nullptr, *executable = nullptr;
  REQUIRE(graphs.end(queue.native(), &graph) == 0);

  step(queue, grid(kBlocks), y); // compiles
  constexpr int kSteps = 10, kReplays = 5;
  REQUIRE(graphs.begin(queue.native(), kStrict) == 0);
  for (int i = 0; i < kSteps; ++i) step(queue, grid(kBlocks), x);
  REQUIRE(graphs.end(queue.native(), &graph) == 0);
  CHECK(contentOf(x) == ramp(kCount)); // nothing has run
  REQUIRE(graphs.instantiate(&executable, graph, 0) == 0);
  for (int i = 0; i < kReplays; ++i) REQUIRE(graphs.launch(executable, queue.native()) == 0);
  CHECK(contentOf(x) == stepped(ramp(kCount), kSteps * kReplays, 0));
  CHECK(contentOf(y) == stepped(ramp(kCount), 1, 0));
}

} // namespace imbrex
