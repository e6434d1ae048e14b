#include "backend/emulate/model/shadow.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace imbrex::emulate;

namespace {

constexpr std::uint32_t kThreads = 6, kWarpSize = 2, kBlocks = 2;

struct Access {
  ThreadId id;
  Tick tick;
  ShadowAccess touch;
};

/// The definition: two accesses to a byte that nothing orders, at least one of which writes, and
/// not both atomic with each reaching the other.
bool isRace(const Access &earlier, const Access &later, const Clock &seen) {
  const ShadowAccess &a = earlier.touch, &b = later.touch;
  const bool overlap = a.address < b.address + b.bytes && b.address < a.address + a.bytes;
  if (!overlap || earlier.id == later.id) return false;
  if (!writes(a.mode) && !writes(b.mode)) return false;
  if (seen.seen(earlier.id) >= earlier.tick) return false;
  const MemoryScope needed =
      earlier.id.block == later.id.block ? MemoryScope::Block : MemoryScope::Device;
  return !(isAtomic(a.mode) && isAtomic(b.mode) && a.scope >= needed && b.scope >= needed);
}

/// Threads of two blocks that touch a few bytes, and sometimes meet.
class Trace {
public:
  explicit Trace(std::uint32_t seed) : random_(seed), ticks_(kBlocks * kThreads, 1) {
    seen_.resize(kBlocks * kThreads);
  }

  /// False when the trace has come to its first race, which the shadow must have found.
  bool step() {
    if (below(6) == 0) {
      meet();
      return true;
    }
    const std::uint32_t who = below(kBlocks * kThreads);
    const Access access{idOf(who), ticks_[who], randomTouch()};
    const bool expected = std::ranges::any_of(
        all_, [&](const Access &earlier) { return isRace(earlier, access, seen_[who]); });
    const auto found =
        shadow_.touch({access.id, access.tick, kWarpSize, &seen_[who]}, access.touch);
    all_.push_back(access);
    REQUIRE(found.has_value() == expected);
    return !expected;
  }

private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  static ThreadId idOf(std::uint32_t who) { return {who / kThreads, who % kThreads}; }

  ShadowAccess randomTouch() {
    const std::uint32_t bytes = 1u << below(4);
    const std::uint64_t address = 4096 + bytes * below(16 / bytes);
    const auto mode = static_cast<AccessMode>(below(8) < 5 ? 0 : below(4));
    const MemoryScope scope = below(2) == 0 ? MemoryScope::Block : MemoryScope::Device;
    return {address, bytes, 0, mode, scope};
  }

  /// Some threads of one block, or of all, see each other.
  void meet() {
    const bool everywhere = below(4) == 0;
    const std::uint32_t block = below(kBlocks);
    std::vector<std::uint32_t> those;
    for (std::uint32_t who = 0; who < kBlocks * kThreads; ++who)
      if ((everywhere || who / kThreads == block) && below(4) != 0) those.push_back(who);
    Clock joined;
    for (const std::uint32_t who : those) {
      const ThreadId id = idOf(who);
      joined = Clock::join(joined, seen_[who].with(id.block, {{id.thread, ticks_[who]++}}));
    }
    for (const std::uint32_t who : those) seen_[who] = joined;
  }

  std::mt19937 random_;
  std::vector<Tick> ticks_;
  std::vector<Clock> seen_;
  std::vector<Access> all_;
  Shadow shadow_;
};

} // namespace

TEST_CASE("the shadow finds the first race of a trace, and none before it") {
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    Trace trace(seed);
    for (int i = 0; i < 200 && trace.step(); ++i) {
    }
  }
}

TEST_CASE("lanes of one statement may store to one place, and race with all else") {
  const Clock seen;
  const auto by = [&](std::uint32_t block, std::uint32_t thread) {
    return AccessAgent{{block, thread}, 1, kWarpSize, &seen};
  };
  const auto store = [](std::uint32_t statement) {
    return ShadowAccess{4096, 4, 0, AccessMode::Write, MemoryScope::Device, statement};
  };
  const auto followedBy = [&](const AccessAgent &who, const ShadowAccess &touch) {
    Shadow shadow;
    CHECK(!shadow.touch(by(0, 0), store(7)));
    CHECK(!shadow.touch(by(0, 5), store(7)));
    return shadow.touch(who, touch).has_value();
  };
  CHECK(!followedBy(by(0, 1), store(7)));
  CHECK(followedBy(by(0, 1), store(8)));
  CHECK(followedBy(by(1, 0), store(7)));
  CHECK(followedBy(by(0, 1), {4096, 4, 0, AccessMode::Read, MemoryScope::Device, 7}));
}

TEST_CASE("a clock that has seen another has seen all that the other has") {
  const Clock a = Clock().with(0, {{1, 5}, {2, 3}}), b = a.with(0, {{2, 7}}).with(1, {{0, 1}});
  const Clock both = Clock::join(a, b);
  CHECK(both.seen({0, 1}) == 5);
  CHECK(both.seen({0, 2}) == 7);
  CHECK(both.seen({1, 0}) == 1);
  CHECK(both.seen({1, 9}) == 0);
  CHECK(a.seen({0, 2}) == 3);
}
