#pragma once

#include "backend/ir/kernel.h"
#include "backend/support/diagnostics.h"
#include "llvm/IR/InlineAsm.h"

/// The instructions of inline_asm: the author's own text, which LLVM would abort on if it is wrong.
namespace imbrex::host {

/// The instructions as a callee: one element of each operand to one element of each result.
llvm::InlineAsm *assemblyOf(llvm::LLVMContext &context, const ir::Kernel &kernel, const ir::Op &op);

/// Whether every inline_asm of the kernel is for this machine and assembles here. Each that is not
/// is reported, at its line. Costs nothing where there is none; otherwise each is compiled alone.
bool checkAssembly(const ir::Kernel &kernel, Diagnostics &diagnostics);

} // namespace imbrex::host
