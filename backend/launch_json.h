#pragma once

#include "backend/analysis/assumptions.h"
#include "backend/lower/kernel_interface.h"
#include "llvm/Support/JSON.h"

/// How a compiled kernel is launched, for who launches it without our runtime. docs/gpu-targets.md
/// ("Launch without the runtime") says what the words mean.
namespace imbrex {

/// What a launch passes, in order.
llvm::json::Array argumentsAsJson(const lower::KernelInterface &interface);

/// What launches ask of the driver besides.
llvm::json::Object launchAsJson(const ir::KernelAttrs &asked);

/// What every launch has to keep.
llvm::json::Object assumptionsAsJson(const analysis::Assumptions &assumptions,
                                     llvm::ArrayRef<analysis::Requirement> requirements,
                                     const lower::KernelInterface &interface);

} // namespace imbrex
