#pragma once

#include "backend/ir/kernel.h"
#include "llvm/IR/Module.h"

#include <string>
#include <vector>

/// What a launch computes from its arguments before anything runs, as code for the processor.
namespace imbrex::archive {

/// One requirement of a kernel, or of several that stand behind one `&&` one.
struct RequiredPart {
  ir::ValueId condition;
  std::string written; ///< As C++ has it.
  std::string text;
};
std::vector<RequiredPart> requiredBy(const ir::Kernel &kernel);

/// The function `check` of backend/package/choice/tables.h.
llvm::Function *emitCheck(llvm::Module &module, const std::string &name, const ir::Kernel &kernel,
                          const std::vector<RequiredPart> &required);

} // namespace imbrex::archive
