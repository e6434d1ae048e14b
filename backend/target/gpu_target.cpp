#include "backend/target/gpu_target.h"

#include "backend/support/check.h"
#include "backend/support/lifetime.h"
#include "llvm/ADT/STLExtras.h"

#include <memory>

#if IMBREX_ENABLE_NVPTX
#include "backend/target/nvptx/nvptx_target.h"
#endif
#if IMBREX_ENABLE_AMDGPU
#include "backend/target/amdgpu/amdgpu_target.h"
#endif

namespace imbrex::target {
namespace {

std::unique_ptr<GpuTarget> makeTarget(const machine::Machine &machine) {
  switch (machine.family) {
  case machine::Family::Cpu: return nullptr;
  case machine::Family::Nvptx:
#if IMBREX_ENABLE_NVPTX
    return nvptx::makeTarget(machine);
#else
    return nullptr;
#endif
  case machine::Family::Amdgpu:
#if IMBREX_ENABLE_AMDGPU
    return amdgpu::makeTarget(machine);
#else
    return nullptr;
#endif
  }
  return nullptr;
}

std::vector<std::unique_ptr<GpuTarget>> makeTargets() {
  std::vector<std::unique_ptr<GpuTarget>> targets;
  for (const machine::Machine &machine : machine::allMachines())
    if (auto target = makeTarget(machine)) targets.push_back(std::move(target));
  return targets;
}

} // namespace

const GpuTarget *findGpuTarget(const machine::Machine &machine) {
  static const auto &targets = permanent(makeTargets());
  const auto found = llvm::find_if(
      targets, [&](const auto &target) { return target->machine().name == machine.name; });
  return found == targets.end() ? nullptr : found->get();
}

const GpuTarget &gpuTarget(const machine::Machine &machine) {
  const GpuTarget *target = findGpuTarget(machine);
  IMBREX_CHECK(target != nullptr, "this build makes no code for {0}", machine.name);
  return *target;
}

} // namespace imbrex::target
