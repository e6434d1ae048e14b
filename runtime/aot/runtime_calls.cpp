#include "backend/launching/bfloat.h"
#include "backend/launching/sort.h"

/// What code for the processor calls by name (backend/target/host/run/runtime_calls.h has them for
/// code that is made at run time).
extern "C" {

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
