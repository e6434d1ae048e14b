#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "runtime/devices.h"
#include "tools/imbrex/command.h"

#include <cstdio>
#include <thread>

namespace imbrex::tool {
namespace {

namespace cl = llvm::cl;

cl::SubCommand targetsOptions("targets", "List the devices that a kernel can run on");

/// The vector units of this machine that the host target knows how to use.
std::string vectorUnits() {
  std::string units;
  const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  for (const llvm::StringRef name : {"avx2", "fma", "avx512f", "avx512bf16", "avx512fp16", "neon"})
    if (features.lookup(name)) units += (units.empty() ? "" : ", ") + name.str();
  return units;
}

int targets() {
  for (const DeviceInfo &row : kDevices)
    std::printf("%-12s %s\n", std::string(row.name).c_str(), std::string(row.meaning).c_str());
  std::printf("\nthis machine: %s, %s; %s; %u threads\n",
              llvm::sys::getDefaultTargetTriple().c_str(),
              llvm::sys::getHostCPUName().str().c_str(), vectorUnits().c_str(),
              std::thread::hardware_concurrency());
  return kSuccess;
}

} // namespace

const Subcommand kTargets{.options = &targetsOptions, .run = targets};

} // namespace imbrex::tool
