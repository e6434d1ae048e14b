#pragma once

#include "backend/ir/kernel.h"
#include "backend/support/result.h"
#include "llvm/IR/InlineAsm.h"

#include <optional>
#include <string>

/// The instructions of inline_asm: the author's own text, on which LLVM would abort if it is wrong.
namespace imbrex::lower {

/// One element of each operand to one element of each result.
llvm::FunctionType *assemblyType(llvm::LLVMContext &context, const ir::Kernel &kernel,
                                 const ir::Op &op);
/// The instructions as a callee of that type.
llvm::InlineAsm *assemblyOf(llvm::LLVMContext &context, const ir::Kernel &kernel, const ir::Op &op);

/// What is wrong with the constraints, or with the operands that the text names. `classes` are the
/// letters of the registers that operands can be in: on others LLVM may abort. The instructions
/// themselves only an assembler can judge.
std::optional<std::string> assemblyProblem(const ir::Kernel &kernel, const ir::Op &op,
                                           llvm::StringRef classes);

/// What an assembler says, and of what.
struct AssemblerError {
  llvm::StringRef words, instruction;
};
/// The error for instructions that stand at a line of the kernel.
Failure<Diagnostic> badAssembly(Location where, std::string_view assembler,
                                const AssemblerError &complaint);

} // namespace imbrex::lower
