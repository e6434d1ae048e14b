#include "backend/emulate/model/warp_operation.h"

#include <doctest/doctest.h>

#include <bit>
#include <functional>

using namespace imbrex::emulate;

namespace {

using Source = std::function<std::uint32_t(std::uint32_t)>;

/// What a warp gives whose lanes hold 1000 + lane as operand `at`.
class Meeting {
public:
  Meeting(WarpOperation operation, std::uint32_t warpSize, Operands common, std::size_t at)
      : operation_(operation), warpSize_(warpSize), operands_(kMostLanes, common) {
    for (std::uint32_t lane = 0; lane < kMostLanes; ++lane) operands_[lane][at] = 1000 + lane;
  }

  Meeting &operand(std::size_t at, const std::function<std::uint64_t(std::uint32_t)> &value) {
    for (std::uint32_t lane = 0; lane < kMostLanes; ++lane) operands_[lane][at] = value(lane);
    return *this;
  }
  Meeting &without(std::uint32_t lane) {
    missing_ |= std::uint64_t{1} << lane;
    return *this;
  }
  std::optional<LaneFault> run() {
    const std::uint64_t all = warpSize_ == 64 ? ~std::uint64_t{0} : 0xffffffff;
    return evaluate({operation_, warpSize_, all & ~missing_, operands_}, results);
  }
  void gives(const Source &source) {
    REQUIRE_FALSE(run());
    for (std::uint32_t lane = 0; lane < warpSize_; ++lane) {
      CAPTURE(lane);
      CHECK(results[lane].value == 1000 + source(lane));
    }
  }

  std::array<LaneResult, kMostLanes> results{};

private:
  WarpOperation operation_;
  std::uint32_t warpSize_;
  std::uint64_t missing_ = 0;
  std::vector<Operands> operands_;
};

Meeting shuffle(WarpOperation operation, std::uint64_t b, std::uint64_t c) {
  return {operation, 32, {0xffffffff, 0, b, c}, 1};
}
Meeting dpp(std::uint64_t control, std::uint32_t warpSize = 64) {
  return {WarpOperation::UpdateDpp, warpSize, {7, 0, control, 0xf, 0xf, 1}, 1};
}

} // namespace

TEST_CASE("shuffles take the value of the lane that PTX says") {
  shuffle(WarpOperation::ShuffleXor, 5, 31).gives([](auto lane) { return lane ^ 5; });
  shuffle(WarpOperation::ShuffleIndex, 9, 31).gives([](auto) { return 9u; });
  shuffle(WarpOperation::ShuffleUp, 3, 0).gives([](auto lane) {
    return lane < 3 ? lane : lane - 3;
  });
  shuffle(WarpOperation::ShuffleDown, 3, 31).gives([](auto lane) {
    return lane > 28 ? lane : lane + 3;
  });
  // Segments of eight lanes.
  const std::uint64_t eight = 0x1800;
  shuffle(WarpOperation::ShuffleDown, 1, eight | 31).gives([](auto lane) {
    return lane % 8 == 7 ? lane : lane + 1;
  });
  shuffle(WarpOperation::ShuffleUp, 1, eight).gives([](auto lane) {
    return lane % 8 == 0 ? lane : lane - 1;
  });
  shuffle(WarpOperation::ShuffleIndex, 2, eight | 31).gives([](auto lane) {
    return (lane & ~7u) + 2;
  });
}

TEST_CASE("data-parallel primitives take the value of the lane that the control says") {
  dpp(0xb1).gives([](auto lane) { return lane ^ 1; });
  dpp(0x4e).gives([](auto lane) { return lane ^ 2; });
  dpp(0x140).gives([](auto lane) { return lane ^ 15; });
  dpp(0x141).gives([](auto lane) { return lane ^ 7; });
  dpp(0x128).gives([](auto lane) { return lane ^ 8; }); // a rotation by half a row
  dpp(0x124).gives([](auto lane) { return (lane & ~15u) | ((lane - 4) & 15); });
  dpp(0x153).gives([](auto lane) { return (lane & ~15u) | 3; });
  dpp(0x165, 32).gives([](auto lane) { return lane ^ 5; });
}

TEST_CASE("a lane at a row's end gets zero, or keeps its old value") {
  Meeting zero = dpp(0x111); // each lane takes its left neighbour's
  REQUIRE_FALSE(zero.run());
  CHECK(zero.results[16].value == 0);
  CHECK(zero.results[17].value == 1016);
  Meeting old = dpp(0x101); // its right neighbour's
  old.operand(5, [](auto) { return 0u; });
  REQUIRE_FALSE(old.run());
  CHECK(old.results[15].value == 7);
  CHECK(old.results[14].value == 1015);
  Meeting masked = dpp(0xb1);
  masked.operand(3, [](auto) { return 1u; });
  REQUIRE_FALSE(masked.run());
  CHECK(masked.results[3].value == 1002);
  CHECK(masked.results[19].value == 7);
}

TEST_CASE("AMD's permutations take the value of the lane that they say") {
  const auto swizzle = [](std::uint64_t pattern) {
    return Meeting(WarpOperation::Swizzle, 64, {0, pattern}, 0);
  };
  swizzle(16 << 10 | 0x1f).gives([](auto lane) { return lane ^ 16; });
  swizzle(0x1c).gives([](auto lane) { return lane & ~3u; });
  swizzle(0x8000 | 0x1b).gives([](auto lane) { return lane ^ 3; });
  Meeting(WarpOperation::GatherBytes, 64, {}, 1)
      .operand(0, [](auto lane) { return 4 * ((lane + 40) % 64); })
      .gives([](auto lane) { return (lane + 40) % 64; });
  Meeting(WarpOperation::ScatterBytes, 64, {}, 1)
      .operand(0, [](auto lane) { return 4 * ((lane + 40) % 64); })
      .gives([](auto lane) { return (lane + 24) % 64; });
  const std::uint64_t reversed = 0x0123456789abcdef;
  const Operands rows{0, 0, reversed & 0xffffffff, reversed >> 32};
  Meeting(WarpOperation::PermuteRow, 32, rows, 1).gives([](auto lane) { return lane ^ 15; });
  Meeting(WarpOperation::PermuteOtherRow, 32, rows, 1).gives([](auto lane) { return lane ^ 31; });
  Meeting(WarpOperation::SwapHalves, 64, {}, 0).gives([](auto lane) { return lane ^ 32; });
  Meeting(WarpOperation::ReadLane, 64, {0, 40}, 0).gives([](auto) { return 40u; });
  Meeting(WarpOperation::ReadFirstLane, 64, {}, 0).gives([](auto) { return 0u; });
  Meeting(WarpOperation::MoveDpp8, 32, {0, 0x53977}, 0).gives([](auto lane) { return lane ^ 7; });
}

TEST_CASE("a swap of half warps of a value with itself gives both halves") {
  Meeting swap(WarpOperation::SwapRowPairs, 64, {}, 0);
  swap.operand(1, [](auto lane) { return 1000 + lane; });
  REQUIRE_FALSE(swap.run());
  for (std::uint32_t lane = 0; lane < 64; ++lane) {
    CHECK(swap.results[lane].value == 1000 + lane % 32);
    CHECK(swap.results[lane].second == 1032 + lane % 32);
  }
}

TEST_CASE("votes, matches and reductions tell all lanes the same") {
  const auto odd = [](std::uint32_t lane) -> std::uint64_t { return lane % 2; };
  const auto vote = [&](WarpOperation operation) {
    Meeting meeting(operation, 32, {0xffffffff}, 0);
    meeting.operand(1, odd);
    REQUIRE_FALSE(meeting.run());
    return meeting.results[13].value;
  };
  CHECK(vote(WarpOperation::VoteAll) == 0);
  CHECK(vote(WarpOperation::VoteAny) == 1);
  CHECK(vote(WarpOperation::VoteUniform) == 0);
  CHECK(vote(WarpOperation::VoteBallot) == 0xaaaaaaaa);
  CHECK(vote(WarpOperation::MatchAny) == 0xaaaaaaaa);
  CHECK(vote(WarpOperation::MatchAll) == 0);
  const auto reduce = [](WarpOperation operation) {
    Meeting meeting(operation, 32, {0, 0xffffffff}, 0);
    meeting.operand(0, [](auto lane) { return static_cast<std::uint32_t>(lane - 3); });
    REQUIRE_FALSE(meeting.run());
    return static_cast<std::uint32_t>(meeting.results[5].value);
  };
  CHECK(reduce(WarpOperation::ReduceAdd) == 400);
  CHECK(reduce(WarpOperation::ReduceSignedMin) == static_cast<std::uint32_t>(-3));
  CHECK(reduce(WarpOperation::ReduceSignedMax) == 28);
  CHECK(reduce(WarpOperation::ReduceUnsignedMin) == 0);
  CHECK(reduce(WarpOperation::ReduceUnsignedMax) == ~0u);
}

TEST_CASE("to take the value of a lane that is not there is a fault") {
  Meeting meeting = shuffle(WarpOperation::ShuffleXor, 1, 31).without(4);
  const auto fault = meeting.run();
  REQUIRE(fault);
  CHECK(fault->lane == 5);
  CHECK(fault->source == 4);
}
