#include "backend/interpret/block_run.h"

namespace imbrex::interpret {
namespace {

using Words = std::array<std::uint32_t, 4>;

/// Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011.
Words philox(Words counter, std::uint64_t key) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kIncrement0 = 0x9E3779B9, kIncrement1 = 0xBB67AE85;
  constexpr int kRounds = 10;
  auto key0 = static_cast<std::uint32_t>(key), key1 = static_cast<std::uint32_t>(key >> 32);
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0], product1 = kMultiplier1 * counter[2];
    counter = {high(product1) ^ counter[1] ^ key0, low(product1),
               high(product0) ^ counter[3] ^ key1, low(product0)};
    key0 += kIncrement0;
    key1 += kIncrement1;
  }
  return counter;
}

} // namespace

Flow runPhilox(BlockRun &run, const ir::Op &op) {
  const std::uint64_t key = run.operand(op, 0).at(0);
  const ir::Shape &shape = run.type(op.result()).shape();
  std::array<Value, 4> results;
  for (Value &result : results) result.shape = shape;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    Words counter{}; // words that the op does not give are 0
    for (size_t word = 1; word < op.operands.size(); ++word)
      counter[word - 1] = static_cast<std::uint32_t>(run.operand(op, word).at(i));
    const Words words = philox(counter, key);
    for (size_t word = 0; word < words.size(); ++word) results[word].bits.push_back(words[word]);
  }
  for (size_t word = 0; word < results.size(); ++word)
    run.set(op.result(word), std::move(results[word]));
  return Flow::Next;
}

} // namespace imbrex::interpret
