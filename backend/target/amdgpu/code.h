#pragma once

#include "backend/target/codegen/code_generator.h"

namespace imbrex::target::amdgpu {

/// Assembly or an object file of an optimised module, which is used up: by LLVM's code generator,
/// helped where it errs or knows too little (handed_on.h, lds_loads.h, signed_zeros.h,
/// uniform_pairs.h, write_backs.h).
Result<std::string> generateCode(llvm::Module &module, llvm::TargetMachine &machine,
                                 llvm::CodeGenFileType type);

} // namespace imbrex::target::amdgpu
