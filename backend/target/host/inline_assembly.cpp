#include "backend/target/host/inline_assembly.h"

#include "backend/lower/values/inline_assembly.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"

namespace imbrex::host {
namespace {

/// Gathers the errors of one context, on which LLVM would end the process otherwise.
class ErrorCollector final : public llvm::DiagnosticHandler {
public:
  explicit ErrorCollector(std::string &errors) : errors_(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error || !errors_.empty()) return true;
    llvm::raw_string_ostream stream(errors_);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }

private:
  std::string &errors_;
};

/// What the assembler says of the instructions alone in a function; empty: they are fine.
std::string assemblerErrors(const ir::Kernel &kernel, const ir::Op &op, Compiler &compiler) {
  std::string errors;
  llvm::LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<ErrorCollector>(errors));
  llvm::Module module("inline_asm", context);
  compiler.prepare(module);
  llvm::FunctionType *type = lower::assemblyType(context, kernel, op);
  llvm::Function *function =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, "trial", module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", function));
  llvm::SmallVector<llvm::Value *, 4> arguments;
  for (llvm::Argument &argument : function->args()) arguments.push_back(&argument);
  llvm::Value *result = builder.CreateCall(lower::assemblyOf(context, kernel, op), arguments);
  if (type->getReturnType()->isVoidTy())
    builder.CreateRetVoid();
  else
    builder.CreateRet(result);
  compiler.compileForTrial(module);
  return errors;
}

} // namespace

bool checkAssembly(const ir::Kernel &kernel, Compiler &compiler, Diagnostics &diagnostics) {
  const std::string &ours = compiler.machine().name;
  bool isFine = true;
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    if (op.kind != ir::OpKind::InlineAsm) return;
    const std::string &target = op.attrs<ir::AsmAttrs>().target;
    if (target != ours) {
      diagnostics.report(Diag::ForeignAssembly, op.where, target, ours);
      isFine = false;
      return;
    }
    // Of integers and of vectors: what each processor has.
    const llvm::StringRef classes = llvm::StringRef(target).ends_with("x86_64") ? "rqRxv" : "rw";
    const std::string problem = lower::assemblyProblem(kernel, op, classes).value_or(std::string());
    const std::string errors = problem.empty() ? assemblerErrors(kernel, op, compiler) : problem;
    if (errors.empty()) return;
    diagnostics.report(Diag::BadAssembly, op.where, errors);
    isFine = false;
  });
  return isFine;
}

} // namespace imbrex::host
