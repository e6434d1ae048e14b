#pragma once

#include "backend/machine/machine.h"
#include "backend/support/result.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Target/TargetMachine.h"

#include <shared_mutex>
#include <string>

/// What all GPUs ask of LLVM's code generators.
namespace imbrex::target {

/// LLVM's own idea of a machine: this thread's, made when it is first asked for, which costs as
/// much as a tenth of a small kernel's compilation. The target that the triple names must have been
/// initialised.
///
/// It fuses no multiplication with an addition that the module leaves apart: semantics.md,
/// "Contraction".
llvm::TargetMachine &targetMachineOf(const machine::Machine &machine, llvm::StringRef triple);

/// A pass of a target's own, behind each of LLVM's that is called so. It says whether it has
/// changed anything.
struct InsertedPass {
  llvm::StringRef name;
  bool (*run)(llvm::MachineFunction &);
};

/// The same on LLVM's IR, in place of LLVM's that is called so.
struct ReplacingPass {
  llvm::StringRef name;
  bool (*run)(llvm::Function &);
};

/// How one family's list of passes differs from LLVM's.
struct PassChanges {
  llvm::ArrayRef<llvm::StringLiteral> leftOut = {};
  llvm::ArrayRef<ReplacingPass> replaced = {};
  llvm::ArrayRef<InsertedPass> inserted = {};
};

/// Assembly or an object file; the error is LLVM's. The module is used up.
Result<std::string> generate(llvm::Module &module, llvm::TargetMachine &machine,
                             llvm::CodeGenFileType type, const PassChanges &changes = {});

/// LLVM's options are globals, which lld sets anew at each call: code generators hold this shared,
/// a linker alone.
std::shared_mutex &llvmOptions();

} // namespace imbrex::target
