#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string_view>
#include <vector>

namespace imbrex {

/// What the time of a compilation went into, in order; a stage that was gone through twice is there
/// once.
struct StageTime {
  std::string_view stage;
  std::chrono::nanoseconds took;
};
using StageTimes = std::vector<StageTime>;

/// Does nothing where nobody wants to know.
inline void addTime(StageTimes *times, std::string_view stage, std::chrono::nanoseconds took) {
  if (times == nullptr) return;
  for (StageTime &known : *times)
    if (known.stage == stage) return static_cast<void>(known.took += took);
  times->push_back({stage, took});
}

/// A row of a table: what `--time` calls it, several by one name, and what it does.
template <class State, class Outcome>
struct TimedStep {
  std::string_view stage;
  Outcome (*run)(State &);
};

/// One after the other, up to the first that fails. What the last one that was run says.
template <class State, class Outcome, std::size_t N>
Outcome runSteps(const std::array<TimedStep<State, Outcome>, N> &steps, State &state,
                 StageTimes *times) {
  for (std::size_t i = 0;; ++i) {
    const auto start = std::chrono::steady_clock::now();
    Outcome outcome = steps[i].run(state);
    addTime(times, steps[i].stage, std::chrono::steady_clock::now() - start);
    if (!outcome || i + 1 == N) return outcome;
  }
}

} // namespace imbrex
