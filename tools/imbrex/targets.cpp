#include "backend/target/gpu_target.h"
#include "backend/target/host/jit.h"
#include "llvm/TargetParser/Host.h"
#include "runtime/devices.h"
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

int targets() {
  for (const DeviceKindInfo &row : kDeviceKinds) printRow(row.name, row.meaning);
  std::printf("\ncompile --target, or emulated:TARGET as a device:\n");
  for (const machine::Machine &row : machine::allMachines())
    if (target::findGpuTarget(row) != nullptr) printRow(row.name, row.meaning);
  const host::Machine &machine = host::machine();
  std::printf("\nthis machine: %s (%s, %s); vectors of %d bits; %u threads\n", machine.name.c_str(),
              llvm::sys::getDefaultTargetTriple().c_str(),
              llvm::sys::getHostCPUName().str().c_str(), machine.vectors.bits,
              std::thread::hardware_concurrency());
  return kSuccess;
}

} // namespace

const Subcommand kTargets{.options = &targetsOptions, .run = targets};

} // namespace imbrex::tool
