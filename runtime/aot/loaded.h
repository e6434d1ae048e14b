#pragma once

#include "runtime/aot/bind.h"
#include "runtime/aot/driver/gpu.h"

/// What a GPU has loaded of a kernel.
namespace imbrex::aot {

/// Code that can be launched.
struct Ready {
  const CodeRow *code = nullptr;
  driver::Module module;
};

/// What launches of it ask for.
driver::LaunchAttributes attributesOf(const CodeRow &code);

/// Of what launches on the GPU run, whatever they keep; null where there is nothing for it.
const CodeRow *usualCode(const KernelRow &kernel, const driver::Gpu &gpu, const imbrex_stream &on);

/// For this launch, loaded now if it was not before: without a lock once it is there. An
/// imbrex_status. A configuration that the GPU's driver has once refused stays so. Where the driver
/// knows of no boxes, the launch is without them from then on.
int makeReady(const KernelRow &kernel, const driver::Gpu &gpu, const imbrex_stream &on,
              BoundArguments &bound, Ready &ready);

/// All that launches on the GPU may run of a kernel and of its configurations. An imbrex_status.
int loadAll(const KernelRow &kernel, const driver::Gpu &gpu, const imbrex_stream &on);

/// A line of the log.
void logLoaded(const KernelRow &kernel, const CodeRow &code, const char *device);

/// What a library has of a kernel, for people: "sm_80, assembly of sm_80, host:x86-64-v3".
std::string describe(const KernelRow &kernel);

} // namespace imbrex::aot
