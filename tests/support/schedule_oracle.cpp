#include "tests/support/schedule_oracle.h"

#include "tests/support/schedule_machine.h"

#include <array>
#include <bit>
#include <ostream>
#include <utility>
#include <vector>

namespace imbrex::testing {

namespace {

/// 128 bits stand for a state: that two of some millions share them is less likely than that the
/// computer errs.
using Fingerprint = std::array<std::uint64_t, 2>;

Fingerprint fingerprint(const MachineState &state) {
  Fingerprint sum = {0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f};
  for (const std::uint32_t word : state) {
    sum[0] = std::rotl((sum[0] ^ word) * 0xff51afd7ed558ccd, 29);
    sum[1] = std::rotl((sum[1] + word) * 0xd6e8feb86659fd93, 37) ^ (sum[0] >> 32);
  }
  return {(sum[0] ^ (sum[0] >> 31)) * 0xbf58476d1ce4e5b9, (sum[1] ^ (sum[1] >> 29)) | 1};
}

/// A hash table with nothing but insertion: it is most of the search's time.
class Seen {
public:
  std::size_t size() const { return size_; }

  /// Whether it is new.
  bool insert(const Fingerprint &print) {
    if (2 * size_ >= table_.size()) grow();
    Fingerprint &place = placeOf(print);
    if (place == print) return false;
    place = print;
    ++size_;
    return true;
  }

private:
  static constexpr Fingerprint kNone = {0, 0}; // a fingerprint's second half is odd

  Fingerprint &placeOf(const Fingerprint &print) {
    const std::size_t mask = table_.size() - 1;
    std::size_t at = print[0] & mask;
    while (table_[at] != kNone && table_[at] != print) at = (at + 1) & mask;
    return table_[at];
  }

  void grow() {
    const auto old = std::exchange(table_, std::vector<Fingerprint>(2 * table_.size(), kNone));
    for (const Fingerprint &print : old)
      if (print != kNone) placeOf(print) = print;
  }

  std::vector<Fingerprint> table_ = std::vector<Fingerprint>(1024, kNone);
  std::size_t size_ = 0;
};

class Search {
public:
  Search(const Traces &traces, const ExploreOptions &options)
      : machine_(traces, options.reduced), options_(options) {}

  Exploration run() {
    add(machine_.start());
    while (!open_.empty() && !over()) {
      const MachineState state = std::move(open_.back());
      open_.pop_back();
      visit(state);
    }
    found_.complete = open_.empty() || (options_.untilFirst && !found_.failures.empty());
    found_.states = seen_.size();
    return std::move(found_);
  }

private:
  bool over() const {
    return seen_.size() >= options_.states || (options_.untilFirst && !found_.failures.empty());
  }

  void visit(const MachineState &state) {
    if (machine_.collides(state)) {
      found_.failures.insert(Failure::Race);
      return;
    }
    bool moved = false;
    if (const auto alone = machine_.independentMove(state))
      moved = take(state, *alone);
    else
      machine_.forEachMove(state, [&](const Move &move) { moved |= take(state, move); });
    if (!moved && !machine_.finished(state)) found_.failures.insert(Failure::Deadlock);
  }

  bool take(const MachineState &state, const Move &move) {
    MachineState next = state;
    if (const auto failure = machine_.apply(next, move))
      found_.failures.insert(*failure);
    else
      add(std::move(next));
    return true;
  }

  void add(MachineState state) {
    if (seen_.insert(fingerprint(state))) open_.push_back(std::move(state));
  }

  Machine machine_;
  ExploreOptions options_;
  Seen seen_;
  std::vector<MachineState> open_;
  Exploration found_;
};

} // namespace

std::string toText(Failure failure) {
  switch (failure) {
  case Failure::Deadlock: return "deadlock";
  case Failure::Race: return "race";
  case Failure::Value: return "value";
  case Failure::OverArrival: return "over-arrival";
  case Failure::Uninitialised: return "uninitialised";
  case Failure::Parties: return "parties";
  case Failure::Unfenced: return "unfenced";
  }
  return "";
}

std::ostream &operator<<(std::ostream &out, const std::set<Failure> &failures) {
  for (const Failure failure : failures) out << '<' << toText(failure) << '>';
  return out;
}

Exploration explore(const schedule::Program &program, const TripCount &count,
                    const ExploreOptions &options) {
  const Traces traces = trace(program, count);
  return Search(traces, options).run();
}

} // namespace imbrex::testing
