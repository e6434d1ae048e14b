#pragma once

#include "backend/target/codegen/instruction_mix.h"

namespace imbrex::target::amdgpu {

/// The instructions of AMD's assembly by class, by the names that the ISA documents give them.
InstructionMix mixOfAssembly(llvm::StringRef assembly);

} // namespace imbrex::target::amdgpu
