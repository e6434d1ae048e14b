#include "backend/passes/expand/expand_random.h"

#include "backend/passes/expand/expansion.h"

#include <array>

namespace imbrex::passes {
namespace {

using namespace ir;
using expand::ExpansionRecorder;

// Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (2011).
constexpr int kRounds = 10;
constexpr std::array<std::int64_t, 2> kMultipliers = {0xD2511F53, 0xCD9E8D57};
constexpr std::array<std::int64_t, 2> kKeyIncrements = {0x9E3779B9, 0xBB67AE85};

using Words = std::array<ValueId, 4>;

/// The key's two words, scalars, low first.
std::array<ValueId, 2> keyWords(Builder &build, ValueId key) {
  const ValueId high =
      build.elementwise(OpKind::Shr, {key, build.integer(Type::tile(ElementKind::U64), 32)});
  return {build.cast(key, ElementKind::U32), build.cast(high, ElementKind::U32)};
}

Words round(Builder &build, const Words &counter, const std::array<ValueId, 2> &key) {
  const Type type = build.kernel().type(counter[0]);
  std::array<ValueId, 2> high, low;
  for (size_t i = 0; i < 2; ++i) {
    const ValueId multiplier = build.integer(type, kMultipliers[i]);
    high[i] = build.elementwise(OpKind::MulHigh, {counter[2 * i], multiplier});
    low[i] = build.elementwise(OpKind::Mul, {counter[2 * i], multiplier});
  }
  const auto mixed = [&](ValueId product, ValueId word, ValueId keyWord) {
    const ValueId both = build.elementwise(OpKind::Xor, {product, word});
    return build.elementwise(OpKind::Xor, {both, build.broadcast(keyWord, type.shape())});
  };
  return {mixed(high[1], counter[1], key[0]), low[1], mixed(high[0], counter[3], key[1]), low[0]};
}

llvm::SmallVector<ValueId, 4> philox(ExpansionRecorder &recorder, const Op &op) {
  if (op.kind != OpKind::Philox) return {};
  Builder build = recorder.builder();
  Words words;
  for (size_t i = 0; i < 4; ++i)
    words[i] =
        i + 1 < op.operands.size() ? op.operand(i + 1) : recorder.constant(ElementKind::U32, 0);
  std::array<ValueId, 2> key = keyWords(build, op.operand(0));
  for (int i = 0; i < kRounds; ++i) {
    words = round(build, words, key);
    for (size_t k = 0; k < 2; ++k) {
      const ValueId increment = build.integer(Type::tile(ElementKind::U32), kKeyIncrements[k]);
      key[k] = build.elementwise(OpKind::Add, {key[k], increment});
    }
  }
  return {words.begin(), words.end()};
}

} // namespace

void expandRandom(Kernel &kernel, const PassContext &) {
  expand::Expander(kernel, philox).expandIn(kernel.body());
}

} // namespace imbrex::passes
