#pragma once

#include "backend/target/codegen/instruction_mix.h"

namespace imbrex::target::amdgpu {

/// The instructions of AMD's assembly by class, by the names that the ISA documents give them.
InstructionMix mixOfAssembly(llvm::StringRef assembly);

/// By a load or a store of this name; 0 where it says nothing.
std::int32_t bytesMovedBy(llvm::StringRef opcode);

} // namespace imbrex::target::amdgpu
