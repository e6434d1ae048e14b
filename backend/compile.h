#pragma once

#include "backend/gpu_code.h"
#include "backend/stage_times.h"
#include "backend/support/diagnostics.h"
#include "backend/target/gpu_target.h"

#include <optional>

namespace imbrex {

/// Bring a kernel of any stage to a target's code for launches that keep the assumptions: the
/// passes of its pipeline, lowering, LLVM's optimiser. Where its author asks for no warps, and
/// those that the passes choose spill registers, blocks get others that spill less, as far as the
/// compiler can tell without a tool of the vendor's. The kernel is at stage Scheduled afterwards,
/// and must outlive the code, which names its ops. None where an error was reported.
std::optional<GpuCode> compileForGpu(ir::Kernel &kernel, const target::GpuTarget &target,
                                     const analysis::Assumptions &assumptions,
                                     Diagnostics &diagnostics, StageTimes *times = nullptr);

/// Has a kernel ask for the warps that its blocks get in place of those that the passes would
/// choose: for whoever runs the passes alone, to see what they did. What these spill; none where
/// they are taken. Takes as long as making the code.
std::optional<Spilling> settleWarps(ir::Kernel &kernel, const machine::Machine &machine,
                                    const analysis::Assumptions &assumptions);

/// The target of a machine; null, and an error, where there is none.
const target::GpuTarget *gpuTargetOf(const machine::Machine &machine, Diagnostics &diagnostics);

} // namespace imbrex
