#pragma once

#include "backend/machine/machine.h"
#include "backend/support/result.h"
#include "llvm/ADT/StringRef.h"

namespace imbrex::target::nvptx {

/// What an assembler has said of a PTX that it refuses.
struct Refusal {
  std::string_view assembler;
  const machine::Machine &machine;
  llvm::StringRef said; ///< `… line 8; error : …`, with the lines of the PTX.
};

/// The error in the words of the kernel's author: where it is about instructions of the author's
/// own, which LLVM puts between `// begin inline asm` and `// end inline asm`, the line that
/// `.loc` names for them. What is left unfinished there the assembler notices behind them.
Failure<Diagnostic> refusalOf(const Refusal &refusal, llvm::StringRef ptx);

} // namespace imbrex::target::nvptx
