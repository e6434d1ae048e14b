#include "runtime/aot/computed.h"

#include "backend/launching/scratch.h"
#include "backend/support/float_state.h"
#include "runtime/aot/error.h"

#include <bit>
#include <cstdio>
#include <limits>
#include <string>

namespace imbrex::aot {
namespace {

using Extents = std::array<std::int64_t, 3>;

std::string numberText(const Given &of, std::uint64_t bits) {
  std::array<char, 32> text{};
  switch (of.kind) {
  case Given::Signed:
    std::snprintf(text.data(), text.size(), "%lld", static_cast<long long>(signedValue(of, bits)));
    break;
  case Given::Unsigned:
    std::snprintf(text.data(), text.size(), "%llu", static_cast<unsigned long long>(bits));
    break;
  case Given::F32:
    std::snprintf(text.data(), text.size(), "%.9g",
                  static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
    break;
  case Given::F64:
    std::snprintf(text.data(), text.size(), "%.17g", std::bit_cast<double>(bits));
    break;
  }
  return text.data();
}

/// "a.extent(1) is 7, b.extent(0) is 64"
std::string givenText(const KernelRow &kernel, const RequirementRow &required,
                      const BoundArguments &bound) {
  Words words;
  writeWords(kernel, bound, words);
  std::string text;
  for (const Given &one :
       std::span(required.given, static_cast<std::size_t>(required.givenCount))) {
    const std::uint64_t bits = words[static_cast<std::size_t>(one.word)];
    text.append(text.empty() ? "" : ", ")
        .append(one.name)
        .append(" is ")
        .append(numberText(one, bits));
  }
  return text.empty() ? "that never holds" : text;
}

/// Run what a launch computes before anything else: its results go to `made`.
void computeFirst(const KernelRow &kernel, const BoundArguments &bound, HostEntry *entry,
                  std::int64_t scratchBytes, std::span<std::int64_t> made) {
  const DefaultFloatState state;
  Words words;
  const std::size_t count = writeWords(kernel, bound, words);
  words[count] = reinterpret_cast<std::uintptr_t>(made.data()); // a view: address,
  words[count + 1] = made.size();                               // extent
  words[count + 2] = 1;                                         // and stride
  constexpr std::array<std::int32_t, 3> kOneBlock{1, 1, 1};
  const launching::Scratch scratch(scratchBytes);
  entry(words.data(), kOneBlock.data(), 0, 1, scratch.data(), nullptr);
}

/// What the kernel itself says of the grid of such a launch.
Extents computedGrid(const KernelRow &kernel, const BoundArguments &bound) {
  Extents extents{};
  computeFirst(kernel, bound, kernel.blocks, kernel.blocksScratchBytes, extents);
  return extents;
}

/// Null where the launch keeps all.
const RequirementRow *firstUnmet(const KernelRow &kernel, const BoundArguments &bound) {
  if (kernel.check == nullptr) return nullptr;
  std::array<std::int64_t, 1> unmet{};
  computeFirst(kernel, bound, kernel.check, kernel.checkScratchBytes, unmet);
  return unmet[0] < 0 ? nullptr : &kernel.requirements[unmet[0]];
}

} // namespace

bool keepsRequired(const KernelRow &kernel, const BoundArguments &bound) {
  return firstUnmet(kernel, bound) == nullptr;
}

int checkRequired(const KernelRow &kernel, const BoundArguments &bound) {
  const RequirementRow *const unmet = firstUnmet(kernel, bound);
  if (unmet == nullptr) return IMBREX_OK;
  return fail(IMBREX_UNMET, "'%s' requires %s, and %s: %s", kernel.name, unmet->condition,
              givenText(kernel, *unmet, bound).c_str(), unmet->text);
}

int bindGrid(const KernelRow &kernel, const imbrex_grid *grid, BoundArguments &bound) {
  if (grid == nullptr && kernel.blocks == nullptr)
    return fail(IMBREX_BAD_ARGUMENT, "the launch of '%s' has no grid", kernel.name);
  const Extents extents =
      kernel.blocks != nullptr ? computedGrid(kernel, bound) : Extents{grid->x, grid->y, grid->z};
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  std::int64_t product = 1;
  bool isEmpty = false, isTooLarge = false;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] < 0 || extents[axis] > kMost)
      return fail(IMBREX_BAD_ARGUMENT,
                  "the grid of '%s' has %lld blocks along %c; it may have 0 to %lld", kernel.name,
                  static_cast<long long>(extents[axis]), "xyz"[axis],
                  static_cast<long long>(kMost));
    bound.grid[axis] = static_cast<std::int32_t>(extents[axis]);
    isEmpty |= extents[axis] == 0;
    isTooLarge |= __builtin_mul_overflow(product, extents[axis], &product);
  }
  if (isEmpty) bound.grid = {0, 0, 0};
  if (isTooLarge && !isEmpty)
    return fail(IMBREX_BAD_ARGUMENT, "the grid of '%s' has more than 2^63 blocks", kernel.name);
  return IMBREX_OK;
}

} // namespace imbrex::aot
