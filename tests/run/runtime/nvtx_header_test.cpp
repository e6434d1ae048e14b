// What we say of NVTX against what its headers say, where there are any.

#include "runtime/aot/driver/cuda/nvtx.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <nvtx3/nvToolsExt.h>
#include <type_traits>

namespace imbrex::driver::nvtx {

TEST_CASE("profilers find what NVTX's headers promise them") {
  static_assert(kCallbacks == NVTX_ETID_CALLBACKS && kVersion == NVTX_ETID_VERSIONINFO);
  static_assert(kCore == NVTX_CB_MODULE_CORE && kCore2 == NVTX_CB_MODULE_CORE2);
  static_assert(kRangePushA == NVTX_CBID_CORE_RangePushA && kRangePop == NVTX_CBID_CORE_RangePop);
  static_assert(kCoreCount == NVTX_CBID_CORE_SIZE && kCore2Count == NVTX_CBID_CORE2_SIZE);
  static_assert(sizeof(Callbacks) == sizeof(NvtxExportTableCallbacks));
  static_assert(offsetof(Callbacks, tableOf) ==
                offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
  static_assert(sizeof(Version) == sizeof(NvtxExportTableVersionInfo));
  static_assert(offsetof(Version, version) == offsetof(NvtxExportTableVersionInfo, version));
  static_assert(offsetof(Version, setInjections) ==
                offsetof(NvtxExportTableVersionInfo, SetInjectionNvtxVersion));
  static_assert(std::is_same_v<Function **, NvtxFunctionTable>);
  static_assert(std::is_same_v<nvtxRangePushA_impl_fntype, int (*)(const char *)> &&
                std::is_same_v<nvtxRangePop_impl_fntype, int (*)()> &&
                std::is_same_v<NvtxInitializeInjectionNvtxFunc_t, InitializeInjection>);
}

} // namespace imbrex::driver::nvtx
