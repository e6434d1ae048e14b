#pragma once

#include "backend/target/codegen/instruction_mix.h"

namespace imbrex::target::nvptx {

/// The instructions of PTX by class (PTX ISA, "Instruction Set"). It is PTX that is counted, and
/// not what the assembler makes of it: NVIDIA documents no machine code.
InstructionMix mixOfPtx(llvm::StringRef ptx);

} // namespace imbrex::target::nvptx
