#pragma once

#include "backend/support/location.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"

#include <map>
#include <string_view>

namespace imbrex::lower {

/// Line tables: every instruction of a kernel names the line of the op that it is for, which
/// profilers and debuggers show and the emulator's reports quote.
class SourceLines {
public:
  /// Describe `function`, which a kernel at `where` becomes.
  SourceLines(llvm::Module &module, llvm::Function &function, Location where);
  /// No more lines are asked for.
  void finish() { builder_.finalize(); }

  llvm::DebugLoc at(Location where);

private:
  llvm::DIFile *file(std::string_view name);

  llvm::DIBuilder builder_;
  llvm::DISubprogram *kernel_;
  std::map<std::string_view, llvm::DIScope *> scopes_; // the kernel's lines in each file
};

} // namespace imbrex::lower
