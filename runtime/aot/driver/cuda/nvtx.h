#pragma once

#include "runtime/aot/driver/ranges.h"

#include <cstddef>
#include <cstdint>

/// NVIDIA's profilers, as a client of NVTX 3 meets them (NVTX's nvtxDetail/nvtxInit.h and
/// nvtxTypes.h): the variable NVTX_INJECTION64_PATH names a library, which is handed a function
/// that gives it tables. A table has the places of the client's pointers, into which it writes.
namespace imbrex::driver::nvtx {

inline constexpr std::uint32_t kCallbacks = 1, kVersion = 3;      // NvtxExportTableID
inline constexpr int kCore = 1, kCore2 = 5;                       // NvtxCallbackModule
inline constexpr std::uint32_t kRangePushA = 9, kRangePop = 11;   // NvtxCallbackIdCore
inline constexpr std::uint32_t kCoreCount = 16, kCore2Count = 16; // with the one that is none

using Function = void (*)();

struct Callbacks {
  std::size_t bytes;
  int (*tableOf)(int module, Function ***table, unsigned *count);
};

struct Version {
  std::size_t bytes;
  std::uint32_t version;
  std::uint32_t unused;
  void (*setInjections)(std::uint32_t version);
};

using GetExportTable = const void *(*)(std::uint32_t table);
using InitializeInjection = int (*)(GetExportTable tables);

/// Null where no profiler is injected, or has no use for ranges.
const Ranges *ranges();

} // namespace imbrex::driver::nvtx
