#include "backend/schedule/blocks/required_waits.h"
#include "block_programs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

using namespace imbrex;
using namespace imbrex::schedule;

// The waits of random programs against queues of single entries, in which every count is tried.

namespace {

/// One entry of a counter, and the load that it is a part of.
struct Entry {
  std::size_t turn; ///< Halves that began before, in all trips, when it was issued.
  OpDesc op;
  int instance;
};

struct Simulated {
  std::vector<std::optional<std::int64_t>> vm, lgkm; ///< By half; none: no count is safe.
};

/// A machine that has run `trips` trips and forgets nothing.
class Machine {
public:
  explicit Machine(const RandomBlocks &random) : random_(random) {
    const auto halves = static_cast<std::size_t>(random.config.numPartitions);
    ofHalf_ = random.program.blocks.size() / halves;
    result_.vm.resize(halves), result_.lgkm.resize(halves);
  }

  Simulated run() {
    for (turn_ = 0; turn_ < 4 * result_.vm.size(); ++turn_)
      for (position_ = 0; position_ < ofHalf_; ++position_)
        runBlock(random_.program.blocks[half() * ofHalf_ + position_]);
    return result_;
  }

private:
  std::size_t halves() const { return result_.vm.size(); }
  std::size_t half() const { return turn_ % halves(); }

  void issue(std::vector<Entry> &queue, const std::optional<OpDesc> &op, std::int64_t weight) {
    if (!op) return;
    ++instances_;
    for (std::int64_t i = 0; i < weight; ++i) queue.push_back({turn_, *op, instances_});
    log_.push_back({turn_, *op, instances_});
  }
  void fragments(const MmaBlock &block) {
    for (const auto &op : {block.preOp0, block.preOp1})
      issue(lgkm_, op,
            op && op->tag == OpTag::FragmentA ? random_.config.lgkmPerLoadA
                                              : random_.config.lgkmPerLoadB);
  }
  void globals(const MmaBlock &block) {
    for (const auto &op : {block.globalLoad, block.globalLoad1})
      issue(vm_, op,
            op && op->tag == OpTag::LoadA ? random_.config.vmPerLoadA : random_.config.vmPerLoadB);
  }
  void loads(const MmaBlock &block) {
    if (block.globalBeforeFrag) {
      globals(block);
      if (block.drainLgkmBeforeLoads) lgkm_.clear();
      fragments(block);
    } else {
      fragments(block);
      if (block.drainLgkmBeforeLoads) lgkm_.clear();
      globals(block);
    }
  }

  void runBlock(const MmaBlock &block) {
    if (!block.barrierBeforePreOps) loads(block);
    if (position_ == 0) result_.lgkm[half()] = largestLgkm(block);
    if (position_ + 1 == ofHalf_) result_.vm[half()] = largestVm();
    if (block.preMmaBarrier && block.postBarrierLgkm) lgkm_.clear();
    if (!block.barrierBeforePreOps) return;
    const int before = instances_;
    loads(block);
    for (const Entry &late : log_)
      if (late.instance > before) refuseLate(late, block);
  }

  void refuseLate(const Entry &late, const MmaBlock &block) {
    const bool fragment = late.op.tag == OpTag::FragmentA || late.op.tag == OpTag::FragmentB;
    if (!fragment && position_ + 1 == ofHalf_ && firstReader(late) == turn_ + 1)
      result_.vm[half()] = std::nullopt;
    if (fragment && position_ == 0 && feeds(late.op, block.mma))
      result_.lgkm[half()] = std::nullopt;
  }

  /// The first turn after its own that reads the stage of a global load.
  std::size_t firstReader(const Entry &load) const {
    for (std::size_t turn = load.turn + 1;; ++turn)
      if (halves() == 1 || std::cmp_equal(load.op.stage, turn % halves())) return turn;
  }
  static bool feeds(const OpDesc &fragment, const OpDesc &mma) {
    return fragment.tag == OpTag::FragmentA ? fragment.subtile == mma.stage
                                            : fragment.subtile == mma.subtile;
  }

  template <class Needed>
  static std::optional<std::int64_t> largest(const std::vector<Entry> &queue, std::int64_t most,
                                             const Needed &needed) {
    for (std::int64_t n = most; n >= 0; --n) {
      const auto stay = queue.end() - std::min<std::int64_t>(n, std::ssize(queue));
      if (std::none_of(stay, queue.end(), needed)) return n;
    }
    return std::nullopt;
  }

  std::optional<std::int64_t> largestVm() const {
    return largest(vm_, 63, [&](const Entry &entry) { return firstReader(entry) == turn_ + 1; });
  }

  std::optional<std::int64_t> largestLgkm(const MmaBlock &block) const {
    std::vector<int> needed; // the newest of A and of B
    for (const OpTag tag : {OpTag::FragmentA, OpTag::FragmentB}) {
      const auto newest = std::find_if(log_.rbegin(), log_.rend(), [&](const Entry &entry) {
        return entry.op.tag == tag && entry.turn % halves() == half() && feeds(entry.op, block.mma);
      });
      if (newest != log_.rend()) needed.push_back(newest->instance);
    }
    return largest(lgkm_, 15, [&](const Entry &entry) {
      return std::ranges::find(needed, entry.instance) != needed.end();
    });
  }

  const RandomBlocks &random_;
  std::size_t ofHalf_ = 0, turn_ = 0, position_ = 0;
  int instances_ = 0;
  std::vector<Entry> vm_, lgkm_, log_;
  Simulated result_;
};

/// Whether some half reads a load that may not be there, when every half ends by `vm(count)`.
bool readsEarly(const RandomBlocks &random, std::int64_t count) {
  const auto halves = static_cast<std::size_t>(random.config.numPartitions);
  const auto ofHalf = random.program.blocks.size() / halves;
  std::vector<std::size_t> inFlight; // the turn that reads each entry, oldest first
  for (std::size_t turn = 0; turn < 6 * halves; ++turn) {
    if (std::ranges::find(inFlight, turn) != inFlight.end()) return true;
    for (std::size_t position = 0; position < ofHalf; ++position) {
      const MmaBlock &block = random.program.blocks[turn % halves * ofHalf + position];
      const auto issue = [&] {
        for (const auto &load : {block.globalLoad, block.globalLoad1}) {
          if (!load) continue;
          const bool late = halves == 2 && std::cmp_equal(load->stage, turn % 2);
          inFlight.insert(inFlight.end(),
                          static_cast<std::size_t>(load->tag == OpTag::LoadA
                                                       ? random.config.vmPerLoadA
                                                       : random.config.vmPerLoadB),
                          turn + (late ? 2 : 1));
        }
      };
      if (!block.barrierBeforePreOps) issue();
      if (position + 1 == ofHalf && std::ssize(inFlight) > count)
        inFlight.erase(inFlight.begin(), inFlight.end() - count);
      if (block.barrierBeforePreOps) issue();
    }
  }
  return false;
}

} // namespace

TEST_CASE("required waits are the largest that a queue of entries allows, on random programs") {
  std::mt19937 rng(23);
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    CAPTURE(round);
    const RandomBlocks random = randomBlocks(rng);
    const Simulated simulated = Machine(random).run();
    const auto waits = requiredWaits(random.program, random.config);
    bool possible = true;
    for (const auto &counts : {simulated.vm, simulated.lgkm})
      possible &= std::ranges::all_of(counts, [](const auto &count) { return count.has_value(); });
    REQUIRE(waits.ok() == possible);
    if (!possible) continue;
    ++accepted;
    for (std::size_t half = 0; half < waits->halves.size(); ++half) {
      CHECK(waits->halves[half].waits.waitVmLast == *simulated.vm[half]);
      CHECK(waits->halves[half].waits.waitLgkmFirst == *simulated.lgkm[half]);
    }
  }
  CHECK(accepted > 1500);
}

TEST_CASE("the formula is called unsafe exactly where a half would read too early") {
  std::mt19937 rng(31);
  int safe = 0, unsafe = 0;
  for (int round = 0; round < 3000; ++round) {
    CAPTURE(round);
    const RandomBlocks random = randomBlocks(rng);
    const auto comparison = compareWaits(random.program, random.config);
    if (!comparison) continue;
    const bool early =
        readsEarly(random, std::min<std::int64_t>(comparison->formula.waitVmLast, 63));
    const bool called = std::ranges::any_of(
        comparison->halves, [](const auto &half) { return half.vm == WaitVerdict::Unsafe; });
    REQUIRE(called == early);
    ++(early ? unsafe : safe);
  }
  CHECK(safe > 100);
  CHECK(unsafe > 100);
}

TEST_CASE("programs that end their halves by the required counts never read too early") {
  std::mt19937 rng(47);
  for (int round = 0; round < 3000; ++round) {
    CAPTURE(round);
    const RandomBlocks random = randomBlocks(rng);
    const auto waits = requiredWaits(random.program, random.config);
    if (!waits) continue;
    std::int64_t least = 63;
    for (const HalfWaits &half : waits->halves) least = std::min(least, half.waits.waitVmLast);
    CHECK_FALSE(readsEarly(random, least));
  }
}
