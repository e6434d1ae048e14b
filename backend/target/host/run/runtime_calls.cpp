#include "backend/target/host/run/runtime_calls.h"

#include "backend/ir/print_line.h"
#include "backend/support/check.h"
#include "backend/target/host/run/launch.h"
#include "backend/target/host/whole/sort.h"

#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <vector>

namespace imbrex::host {
namespace {

using ir::ElementKind;

std::uint64_t bitsAt(const void *data, std::int64_t index, std::int64_t bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const std::byte *>(data) + index * bytes,
              static_cast<std::size_t>(bytes));
  return bits;
}

// --- print and assert ---

void print(Launch *launch, std::uint32_t site, std::int32_t x, std::int32_t y, std::int32_t z,
           const void *const *operands) {
  const Site &printed = launch->sites[site];
  std::vector<std::vector<std::uint64_t>> bits;
  std::vector<ir::PrintedTile> tiles;
  for (std::size_t i = 0; i < printed.types.size(); ++i) {
    const ir::Type &type = printed.types[i];
    std::vector<std::uint64_t> &elements = bits.emplace_back();
    for (std::int64_t element = 0; element < type.shape().elements(); ++element)
      elements.push_back(bitsAt(operands[i], element, scratchElementBytes(type)));
  }
  for (std::size_t i = 0; i < bits.size(); ++i) tiles.push_back({printed.types[i], bits[i]});
  const std::string line =
      ir::printLine({x, y, z}, printed.op->attrs<ir::TextAttrs>().text, tiles) + "\n";
  std::fputs(line.c_str(), stdout);
}

void failAssert(Launch *launch, std::uint32_t site, std::int32_t x, std::int32_t y, std::int32_t z,
                std::int64_t element) {
  const Site &failed = launch->sites[site];
  const std::lock_guard lock(launch->mutex);
  if (launch->stopped.exchange(true)) return; // one message is enough
  launch->diagnostics.report(Diag::AssertFailed, failed.op->where,
                             failed.op->attrs<ir::TextAttrs>().text,
                             ir::elementPlace(failed.types[0].shape(), element, {x, y, z}));
}

// --- sort ---

void sort(std::uint32_t element, std::uint32_t descending, std::int64_t outer, std::int64_t along,
          std::int64_t inner, std::uint32_t count, std::byte *const *buffers,
          const std::int64_t *bytes) {
  llvm::SmallVector<SortTile, 4> tiles;
  for (std::uint32_t b = 0; b < count; ++b) tiles.push_back({buffers[b], bytes[b]});
  sortLines(static_cast<ElementKind>(element), descending != 0,
            {.outer = outer, .along = along, .inner = inner}, tiles);
}

// --- what LLVM calls in place of instructions ---

/// An f32 as a bfloat, in the low half of the register that floats are returned in. Where the
/// processor has none, LLVM holds a bfloat as an f32 and calls this for its bits, which a NaN is to
/// keep as well; compilers' libraries have it from GCC 13 on.
float truncateToBfloat(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounding = 0x7fff + (bits >> 16 & 1);
  const bool isExact = (bits & 0xffff) == 0;
  const bool isNan = (bits & 0x7fffffff) > 0x7f800000;
  if (isExact) return std::bit_cast<float>(bits >> 16);
  return std::bit_cast<float>(isNan ? bits >> 16 | 0x40 : (bits + rounding) >> 16);
}

const std::array kCalls{
    RuntimeCall{"imbrex_host_print", reinterpret_cast<void *>(&print)},
    RuntimeCall{"imbrex_host_fail", reinterpret_cast<void *>(&failAssert)},
    RuntimeCall{"imbrex_host_sort", reinterpret_cast<void *>(&sort)},
    RuntimeCall{"__truncsfbf2", reinterpret_cast<void *>(&truncateToBfloat)},
};

} // namespace

llvm::ArrayRef<RuntimeCall> runtimeCalls() { return kCalls; }

} // namespace imbrex::host
