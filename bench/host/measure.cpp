#include "bench/host/measure.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <sched.h>
#include <vector>

namespace bench {
namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The 2.5 % and 97.5 % points of the median under resampling.
std::pair<double, double> interval(const std::vector<double> &values) {
  constexpr int kResamples = 1000;
  std::mt19937 rng(1);
  std::uniform_int_distribution<std::size_t> pick(0, values.size() - 1);
  std::vector<double> medians;
  for (int i = 0; i < kResamples; ++i) {
    std::vector<double> sample;
    for (std::size_t j = 0; j < values.size(); ++j) sample.push_back(values[pick(rng)]);
    medians.push_back(median(sample));
  }
  std::sort(medians.begin(), medians.end());
  return {medians[kResamples * 25 / 1000], medians[kResamples * 975 / 1000]};
}

} // namespace

double secondsOf(const std::function<void()> &work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Comparison compare(const std::function<void()> &ours, const std::function<void()> &peer,
                   int rounds) {
  std::vector<double> oursSeconds, peerSeconds, ratios, again;
  for (int round = 0; round <= rounds; ++round) {
    const double first = secondsOf(ours), other = secondsOf(peer), second = secondsOf(ours);
    if (round == 0) continue;
    oursSeconds.push_back(first);
    peerSeconds.push_back(other);
    ratios.push_back(other / ((first + second) / 2));
    again.push_back(first / second);
  }
  const auto [low, high] = interval(ratios);
  return {median(oursSeconds), median(peerSeconds), median(ratios), low, high, median(again)};
}

void pinToProcessor(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(processor), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) std::perror("cannot pin the thread");
}

void report(const std::string &workload, const std::string &peer, const std::string &unit,
            double amount, const Comparison &result, double floor) {
  std::printf(
      "{\"workload\": \"%s\", \"peer\": \"%s\", \"ours_us\": %.1f, \"peer_us\": %.1f, \"ours_%s\": "
      "%.1f, "
      "\"peer_%s\": %.1f, \"ratio\": %.3f, \"low\": %.3f, \"high\": %.3f, \"aa\": %.3f, \"floor\": "
      "%.2f, \"met\": %s}\n",
      workload.c_str(), peer.c_str(), result.oursSeconds * 1e6, result.peerSeconds * 1e6,
      unit.c_str(), amount / result.oursSeconds / 1e9, unit.c_str(),
      amount / result.peerSeconds / 1e9, result.ratio, result.ratioLow, result.ratioHigh,
      result.oursAgain, floor, result.ratio >= floor ? "true" : "false");
  std::fflush(stdout);
}

void reportTime(const std::string &workload, double milliseconds, double ceiling) {
  std::printf("{\"workload\": \"%s\", \"ms\": %.2f, \"ceiling_ms\": %.0f, \"met\": %s}\n",
              workload.c_str(), milliseconds, ceiling, milliseconds <= ceiling ? "true" : "false");
  std::fflush(stdout);
}

} // namespace bench
