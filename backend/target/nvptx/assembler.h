#pragma once

#include "backend/target/gpu_target.h"

#include <string>

namespace imbrex::target::nvptx {

/// A cubin of PTX: by the program ptxas, or, where it is not found, by nvJitLink in this process,
/// whose code takes more registers, and which cannot hand registers over (docs/adr/0010). The
/// remarks are what `ptxas -v` prints: registers, spills, shared memory.
Result<ObjectCode> assemble(const std::string &ptx, const machine::Machine &machine);

/// The two ways of `assemble`; empty where the library, or the program, is not found.
std::optional<Result<ObjectCode>> assembleInProcess(const std::string &ptx,
                                                    const machine::Machine &machine);
std::optional<Result<ObjectCode>> assembleByProgram(const std::string &ptx,
                                                    const machine::Machine &machine);

} // namespace imbrex::target::nvptx
