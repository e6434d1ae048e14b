#pragma once

#include "backend/lower/kernel_interface.h"
#include "llvm/Support/JSON.h"

#include <optional>

/// An interface as text and back, to be kept beside the code that it is of. What users are given is
/// another form (backend/launch_json.h).
namespace imbrex::lower {

/// Not of one with sites, which are ops of the kernel at hand.
llvm::json::Object toJson(const KernelInterface &interface);
/// None where the text is of something else.
std::optional<KernelInterface> interfaceOf(const llvm::json::Object &text);

} // namespace imbrex::lower
