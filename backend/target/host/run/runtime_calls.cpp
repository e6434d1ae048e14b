#include "backend/target/host/run/runtime_calls.h"

#include "backend/ir/print_line.h"
#include "backend/launching/bfloat.h"
#include "backend/launching/sort.h"
#include "backend/support/check.h"
#include "backend/target/host/run/running_launch.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <vector>

namespace imbrex::host {
namespace {

std::uint64_t bitsAt(const void *data, std::int64_t index, std::int64_t bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const std::byte *>(data) + index * bytes,
              static_cast<std::size_t>(bytes));
  return bits;
}

// --- print and assert ---

void print(RunningLaunch *launch, std::uint32_t site, std::int32_t x, std::int32_t y,
           std::int32_t z, const void *const *operands) {
  const lower::ObservationSite &printed = launch->sites[site];
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

void failAssert(RunningLaunch *launch, std::uint32_t site, std::int32_t x, std::int32_t y,
                std::int32_t z, std::int64_t element) {
  const lower::ObservationSite &failed = launch->sites[site];
  const std::lock_guard lock(launch->mutex);
  if (launch->stopped.exchange(true)) return; // one message is enough
  launch->diagnostics.report(Diag::AssertFailed, failed.op->where,
                             failed.op->attrs<ir::TextAttrs>().text,
                             ir::elementPlace(failed.types[0].shape(), element, {x, y, z}));
}

const std::array kCalls{
    RuntimeCall{"imbrex_host_print", reinterpret_cast<void *>(&print)},
    RuntimeCall{"imbrex_host_fail", reinterpret_cast<void *>(&failAssert)},
    RuntimeCall{"imbrex_host_sort", reinterpret_cast<void *>(&launching::sortForCode)},
    RuntimeCall{"__truncsfbf2", reinterpret_cast<void *>(&launching::truncateToBfloat)},
};

} // namespace

llvm::ArrayRef<RuntimeCall> runtimeCalls() { return kCalls; }

} // namespace imbrex::host
