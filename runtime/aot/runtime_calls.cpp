#include "backend/launching/bfloat.h"
#include "backend/launching/sort.h"
#include "runtime/aot/observed.h"

#include <new>

/// What code for the processor calls by name (backend/target/host/run/runtime_calls.h has them for
/// code that is made at run time).
extern "C" {

void imbrex_host_print(imbrex::aot::ObservedHostRun *run, std::uint32_t site, std::int32_t x,
                       std::int32_t y, std::int32_t z, const void *const *operands) {
  try {
    imbrex::launching::printFromCode(*run, site, {x, y, z}, operands);
  } catch (const std::bad_alloc &) {
    run->isShort = true; // and nothing is thrown through the code
  }
}

void imbrex_host_fail(imbrex::aot::ObservedHostRun *run, std::uint32_t site, std::int32_t x,
                      std::int32_t y, std::int32_t z, std::int64_t element) {
  try {
    imbrex::launching::failFromCode(*run, site, {x, y, z}, element);
  } catch (const std::bad_alloc &) {
    run->isShort = true;
  }
}

void imbrex_host_sort(const imbrex::launching::KeyRule *rule, std::int64_t outer,
                      std::int64_t along, std::int64_t inner, std::uint32_t count,
                      std::byte *const *data, const std::int64_t *bytes) {
  imbrex::launching::sortForCode(rule, outer, along, inner, count, data, bytes);
}

// The compiler's library may have one, which does the same.
__attribute__((weak)) float __truncsfbf2(float x) { // NOLINT(bugprone-reserved-identifier): LLVM's
  return imbrex::launching::truncateToBfloat(x);
}
}
