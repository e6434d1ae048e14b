#include "backend/target/gpu_target.h"
#include "backend/target/host/run/jit.h"
#include "llvm/TargetParser/Host.h"
#include "runtime/devices.h"
#include "runtime/gpus.h"
#include "tools/imbrex/command.h"

#include <cstdio>
#include <thread>

namespace imbrex::tool {
namespace {

namespace cl = llvm::cl;

cl::SubCommand targetsOptions("targets",
                              "List the devices that a kernel can run on or be compiled for");

void printRow(std::string_view name, std::string_view meaning) {
  std::printf("%-16s %s\n", std::string(name).c_str(), std::string(meaning).c_str());
}

/// The GPUs of one kind that this machine has, or why it has none.
void printGpus(DeviceKind kind) {
  for (const DeviceInfo &device : runtime::allDevices()) {
    if (device.kind != kind) continue;
    const auto gpu = runtime::gpuOf(device);
    if (gpu)
      printRow("", (*gpu)->description() + ", takes " + gpu::toText((*gpu)->code()));
    else if (device.number == 0)
      printRow("", gpu.error().message);
    if (!gpu) return;
  }
}

int targets() {
  for (std::size_t row = 0; row < kDeviceKinds.size(); ++row) {
    printRow(kDeviceKinds[row].name, kDeviceKinds[row].meaning);
    const auto kind = static_cast<DeviceKind>(row);
    if (runtime::isGpu(kind)) printGpus(kind);
  }
  std::printf("\ncompile --target, or emulated:TARGET as a device:\n");
  for (const machine::Machine &row : machine::allMachines())
    if (target::findGpuTarget(row) != nullptr) printRow(row.name, row.meaning);
  const host::HostMachine &machine = host::machine();
  std::printf("\nthis machine: %s (%s, %s); vectors of %d bits; %u threads\n", machine.name.c_str(),
              llvm::sys::getDefaultTargetTriple().c_str(),
              llvm::sys::getHostCPUName().str().c_str(), machine.vectors.bits,
              std::thread::hardware_concurrency());
  return kSuccess;
}

} // namespace

const Subcommand kTargets{.options = &targetsOptions, .run = targets};

} // namespace imbrex::tool
