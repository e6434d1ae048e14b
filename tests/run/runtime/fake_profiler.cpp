// A profiler that prints ranges: injected as NVIDIA's are, or called as AMD's library is
// (CMakeLists.txt compiles this once for each).

#include "runtime/aot/driver/cuda/nvtx.h"

#include <cstdio>

namespace {

int begin(const char *name) {
  std::printf("range %s\n", name);
  return 0;
}
int end() {
  std::printf("end\n");
  return 0;
}

} // namespace

#if FAKE_IS_INJECTED
namespace nvtx = imbrex::driver::nvtx;

extern "C" int InitializeInjectionNvtx2(nvtx::GetExportTable tables) {
  const auto *version = static_cast<const nvtx::Version *>(tables(nvtx::kVersion));
  const auto *callbacks = static_cast<const nvtx::Callbacks *>(tables(nvtx::kCallbacks));
  constexpr std::uint32_t kNone = 2;
  if (version == nullptr || version->bytes != sizeof *version || callbacks == nullptr ||
      callbacks->bytes != sizeof *callbacks || tables(kNone) != nullptr)
    return 0;
  version->setInjections(version->version);
  nvtx::Function **table = nullptr;
  unsigned count = 0;
  constexpr int kSync = 6;
  if (callbacks->tableOf(kSync, &table, &count) != 0) return 0;
  if (callbacks->tableOf(nvtx::kCore2, &table, &count) == 0 || count != nvtx::kCore2Count) return 0;
  for (unsigned i = 1; i < count; ++i) *table[i] = nullptr; // all are there to be set
  if (callbacks->tableOf(nvtx::kCore, &table, &count) == 0 || count != nvtx::kCoreCount) return 0;
  *table[nvtx::kRangePushA] = reinterpret_cast<nvtx::Function>(begin);
  *table[nvtx::kRangePop] = reinterpret_cast<nvtx::Function>(end);
  return 1;
}
#else
extern "C" int roctxRangePushA(const char *name) { return begin(name); }
extern "C" int roctxRangePop() { return end(); }
#endif
