#pragma once

#include "backend/support/result.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Target/TargetMachine.h"

#include <string>

namespace imbrex::target::amdgpu {

/// A relocatable object file of an assembly, by LLVM's assembler, in this process: what is checked
/// of the text holds of it. Instructions of the author's are in the text as LLVM has read and
/// printed them: their comments, macros and conditions have ended there. What is known to be wrong
/// only when all is read, such as a jump to no label, is said of the author's line. What LLVM's
/// code generator writes without the text has the same instructions, kernel descriptor and notes;
/// other bits only where an instruction does not read them, and fewer names for the registers'
/// numbers in its table of symbols, which is not loaded.
Result<llvm::SmallVector<char, 0>> assemble(const std::string &text,
                                            const llvm::TargetMachine &machine);

} // namespace imbrex::target::amdgpu
