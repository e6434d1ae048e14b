#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace imbrex::target {

/// Passes that one family of machines wants beside those of all, as LLVM's `opt` names them.
struct TargetPasses {
  llvm::StringRef first = {}, last = {};
};

/// LLVM's passes that our code has something for (optimiser.cpp lists them), and instructions moved
/// to where they are used (sink.h). Nothing that changes a number.
void optimise(llvm::Module &module, llvm::TargetMachine &machine, const TargetPasses &own = {});

} // namespace imbrex::target
