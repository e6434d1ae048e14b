#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace bench {

/// Two ways to do the same work, timed in turns in one run. Machines are shared and their speed
/// drifts, so only the ratio of neighbours in time means anything.
struct Comparison {
  double oursSeconds; // medians
  double peerSeconds;
  double ratio;    // median over rounds of peer / ours: above 1, ours is faster
  double ratioLow; // its 95 % interval, by bootstrap over rounds
  double ratioHigh;
  double oursAgain; // median over rounds of ours / ours run once more: how far noise alone goes
};

/// How long the work takes, done once.
double secondsOf(const std::function<void()> &work);

/// Rounds of ours, peer, ours again. Every function does the work once and returns when it is done;
/// the first round warms up and is not counted.
Comparison compare(const std::function<void()> &ours, const std::function<void()> &peer,
                   int rounds);

/// Keep the calling thread on one processor.
void pinToProcessor(int processor);

/// One line of JSON on standard output: what was compared, and the figures.
void report(const std::string &workload, const std::string &peer, const std::string &unit,
            double amount, const Comparison &result, double floor);

/// The same for a plain time in milliseconds that must stay below a ceiling.
void reportTime(const std::string &workload, double milliseconds, double ceiling);

} // namespace bench
