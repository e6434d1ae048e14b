#include "tests/unit/emulate/async_kernels.h"

namespace imbrex {

std::vector<AsyncRow> asyncTable() {
  return {
      {"sm_80", copyKernels()},           {"sm_90a", copyKernels()},
      {"sm_90a", phaseKernels()},         {"sm_100a", phaseKernels()},
      {"sm_100a", relaxedPhaseKernels()}, {"sm_90a", bulkKernels()},
      {"sm_100a", blockBulkKernels()},    {"gfx90a", ldsKernels()},
      {"gfx942", ldsKernels()},           {"gfx950", ldsKernels()},
      {"gfx950", wideLdsKernels()},       {"gfx9-4-generic", ldsKernels()},
      {"gfx1250", asyncLdsKernels()},
  };
}

std::string changed(std::string text, const std::string &from, const std::string &to) {
  const std::size_t at = text.find(from);
  return at == std::string::npos ? "" : text.replace(at, from.size(), to);
}

} // namespace imbrex
