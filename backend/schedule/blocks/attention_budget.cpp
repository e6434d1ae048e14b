#include "backend/schedule/blocks/attention_budget.h"

#include <bit>
#include <cmath>
#include <cstdio>

namespace imbrex::schedule {

namespace {

constexpr std::int64_t kInputTiles = 4;     // queries, keys, values, the output's gradient
constexpr std::int64_t kAccumulators = 3;   // the gradients of queries, keys, values
constexpr std::int64_t kAttentionTiles = 2; // the attention, and its gradient
constexpr std::int64_t kF32Bytes = 4;
constexpr std::int64_t kOverheadBytes = 4096;
constexpr std::int64_t kMostHeadDim = 128;
/// Of any number in a configuration: far beyond every kernel, and no sum of the formula overflows.
constexpr std::int64_t kMostOfAnything = 16384;

constexpr std::int64_t kAdvisedBlock = 32, kAdvisedStages = 2, kAdvisedWarps = 8;

/// Coefficients of the formula in the block size.
struct Polynomial {
  double square, linear, constant;
};

Polynomial polynomialOf(const AttentionConfig &config) {
  const AttentionBudget ofOne = attentionBudget({.block = 1,
                                                 .headDim = config.headDim,
                                                 .stages = config.stages,
                                                 .warps = config.warps,
                                                 .elementBytes = config.elementBytes});
  return {.square = static_cast<double>(ofOne.attentionTiles),
          .linear = static_cast<double>(ofOne.inputTiles + ofOne.accumulators),
          .constant = static_cast<double>(ofOne.overhead)};
}

std::string oneDecimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::int64_t floorToPowerOfTwo(double value) {
  return value < 1 ? 0
                   : static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(value)));
}

std::vector<Diagnostic> checkSizes(const AttentionConfig &config, Location where) {
  const struct {
    std::string_view name;
    std::int64_t value;
  } sizes[] = {{"block size", config.block},
               {"head dimension", config.headDim},
               {"number of stages", config.stages},
               {"number of warps", config.warps},
               {"element size in bytes", config.elementBytes}};
  std::vector<Diagnostic> found;
  for (const auto &size : sizes)
    if (size.value < 1 || size.value > kMostOfAnything)
      found.push_back(
          diagnostic(Diag::AttentionSize, where, size.name, size.value, kMostOfAnything));
  return found;
}

void checkMemory(const AttentionConfig &config, Location where, std::vector<Diagnostic> &found) {
  const machine::Machine &machine = attentionMachine();
  const AttentionBudget budget = attentionBudget(config);
  const std::int64_t bytes = budget.total();
  const std::int64_t block = floorToPowerOfTwo(largestBlock(config));
  const std::string advice = block == 0
                                 ? "use fewer stages"
                                 : "use blocks of at most " + toText(block) + ", or fewer stages";
  if (bytes > machine.sharedMemoryBytes)
    found.push_back(diagnostic(Diag::AttentionOverLimit, where, config.block, bytes, toText(budget),
                               machine.name, machine.sharedMemoryBytes, advice));
  else if (bytes > kAttentionBudgetBytes)
    found.push_back(diagnostic(Diag::AttentionOverBudget, where, config.block, bytes,
                               toText(budget), kAttentionBudgetBytes, advice, machine.name));
  else if (bytes > machine.staticSharedMemoryBytes)
    found.push_back(diagnostic(Diag::AttentionOptIn, where, bytes, machine.name,
                               machine.staticSharedMemoryBytes));
}

void checkThreads(const AttentionConfig &config, Location where, std::vector<Diagnostic> &found) {
  const machine::Machine &machine = attentionMachine();
  const std::int64_t threads = config.warps * machine.warpSize;
  if (threads > machine.maxThreads)
    found.push_back(diagnostic(Diag::AttentionThreads, where, config.warps, threads,
                               machine.maxThreads, machine.name,
                               machine.maxThreads / machine.warpSize));
}

void addAdvice(const AttentionConfig &config, Location where, std::vector<Diagnostic> &found) {
  const struct {
    std::string_view name;
    std::int64_t value, advised;
    std::string_view reason;
  } rows[] = {
      {"block size", config.block, kAdvisedBlock, "the attention tiles grow with its square"},
      {"number of stages", config.stages, kAdvisedStages, "each has input tiles of its own"},
      {"number of warps", config.warps, kAdvisedWarps, "more gain little"},
  };
  for (const auto &row : rows)
    if (row.value > row.advised)
      found.push_back(diagnostic(Diag::AttentionAdvice, where, row.name, row.value,
                                 "at most " + toText(row.advised), row.reason));
}

} // namespace

const machine::Machine &attentionMachine() {
  const machine::Machine *machine = machine::findMachine("sm_120a");
  IMBREX_CHECK(machine, "the machine of the attention budget is not in the table of targets");
  return *machine;
}

AttentionBudget attentionBudget(const AttentionConfig &config) {
  return {.inputTiles =
              config.stages * kInputTiles * config.block * config.headDim * config.elementBytes,
          .accumulators = kAccumulators * config.block * config.headDim * kF32Bytes,
          .attentionTiles = kAttentionTiles * config.block * config.block * kF32Bytes,
          .overhead = kOverheadBytes};
}

std::string toText(const AttentionBudget &budget) {
  return "input tiles " + toText(budget.inputTiles) + " + accumulators " +
         toText(budget.accumulators) + " + attention tiles " + toText(budget.attentionTiles) +
         " + overhead " + toText(budget.overhead);
}

std::vector<Diagnostic> validate(const AttentionConfig &config, Location where) {
  std::vector<Diagnostic> found = checkSizes(config, where);
  if (!found.empty()) return found; // the formula means nothing for these
  if (config.headDim > kMostHeadDim)
    found.push_back(diagnostic(Diag::AttentionHeadDim, where, config.headDim, kMostHeadDim));
  checkMemory(config, where, found);
  checkThreads(config, where, found);
  addAdvice(config, where, found);
  return found;
}

Result<AttentionConfig> safeConfig(std::int64_t headDim, Location where) {
  if (headDim < 1) return fail(Diag::AttentionSize, where, "head dimension", headDim, kMostHeadDim);
  if (headDim > kMostHeadDim) return fail(Diag::AttentionHeadDim, where, headDim, kMostHeadDim);
  return AttentionConfig{
      .block = headDim <= 64 ? 32 : 16, .headDim = headDim, .stages = 1, .warps = 4};
}

double largestBlock(const AttentionConfig &config, std::int64_t bytes) {
  const Polynomial p = polynomialOf(config);
  const double left = static_cast<double>(bytes) - p.constant;
  if (left < 0) return -1;
  return (std::sqrt(p.linear * p.linear + 4 * p.square * left) - p.linear) / (2 * p.square);
}

std::string largestBlocksText() {
  const struct {
    std::int64_t stages;
    std::string_view printed; // by the table "Blackwell SM 12.x kernel constraints"
  } rows[] = {{1, "56"}, {2, "40"}};
  std::string text = "stages  largest block  as a power of two  the table's\n";
  for (const auto &row : rows) {
    const double block = largestBlock({.headDim = 64, .stages = row.stages});
    char line[80];
    std::snprintf(line, sizeof line, "%6lld  %13s  %17lld  %11s\n",
                  static_cast<long long>(row.stages), oneDecimal(block).c_str(),
                  static_cast<long long>(floorToPowerOfTwo(block)),
                  std::string(row.printed).c_str());
    text += line;
  }
  return text;
}

} // namespace imbrex::schedule
