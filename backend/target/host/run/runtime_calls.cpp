#include "backend/target/host/run/runtime_calls.h"

#include "backend/launching/bfloat.h"
#include "backend/launching/observed_run.h"
#include "backend/launching/sort.h"

#include <array>

namespace imbrex::host {
namespace {

void print(const launching::ObservedRun *launch, std::uint32_t site, std::int32_t x, std::int32_t y,
           std::int32_t z, const void *const *operands) {
  launching::printFromCode(*launch, site, {x, y, z}, operands);
}

void failAssert(launching::ObservedRun *launch, std::uint32_t site, std::int32_t x, std::int32_t y,
                std::int32_t z, std::int64_t element) {
  launching::failFromCode(*launch, site, {x, y, z}, element);
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
