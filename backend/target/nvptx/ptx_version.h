#pragma once

#include "backend/machine/machine.h"
#include "llvm/IR/Module.h"

#include <cstdint>
#include <string>

/// The version of PTX that a module is written in, times 10: that of the machine (targets.def), so
/// that old drivers read it, or a later one where the module has an instruction that wants it.
namespace imbrex::target::nvptx {

/// The module has an instruction that this version brought; 0: any has it.
void wantPtx(llvm::Module &module, std::int32_t version);

/// LLVM's subtarget features of a machine for a module.
std::string ptxFeature(const machine::Machine &machine, const llvm::Module &module);

} // namespace imbrex::target::nvptx
