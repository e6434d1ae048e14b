#include "backend/target/host/inline_assembly.h"

#include "backend/target/host/emitter.h"
#include "backend/target/host/jit.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/Error.h"

#include <cctype>

namespace imbrex::host {
namespace {

llvm::FunctionType *assemblyType(llvm::LLVMContext &context, const ir::Kernel &kernel,
                                 const ir::Op &op) {
  const auto lanes = [&](llvm::ArrayRef<ir::ValueId> values) {
    llvm::SmallVector<llvm::Type *, 4> types;
    for (const ir::ValueId value : values)
      types.push_back(laneType(context, kernel.type(value).withShape({})));
    return types;
  };
  const llvm::SmallVector<llvm::Type *, 4> results = lanes(op.results);
  llvm::Type *result = results.empty()       ? llvm::Type::getVoidTy(context)
                       : results.size() == 1 ? results[0]
                                             : llvm::StructType::get(context, results);
  return llvm::FunctionType::get(result, lanes(op.operands), false);
}

/// The number of an operand that the text names and that there is not: `$7`, `${7}`, `${7:k}`.
std::optional<std::string> unknownOperand(llvm::StringRef text, size_t operands) {
  for (size_t dollar = text.find('$'); dollar != llvm::StringRef::npos;) {
    llvm::StringRef rest = text.drop_front(dollar + 1);
    if (rest.empty()) return "a '$' stands at the end of the text; '$$' is a dollar";
    const bool isBraced = rest.consume_front("{");
    const llvm::StringRef digits =
        rest.take_while([](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
    size_t number = 0;
    if (!digits.empty() && (digits.getAsInteger(10, number) || number >= operands))
      return "the text names operand $" + digits.str() + " of " + std::to_string(operands);
    if (digits.empty() && (isBraced || !llvm::StringRef("$|()").contains(rest.front())))
      return "a '$' is followed by no number of an operand; '$$' is a dollar";
    if (isBraced && !rest.contains('}')) return "a '${' is not closed";
    dollar = text.find('$', dollar + (rest.starts_with("$") ? 2 : 1));
  }
  return std::nullopt;
}

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
std::string assemblerErrors(const ir::Kernel &kernel, const ir::Op &op) {
  std::string errors;
  llvm::LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<ErrorCollector>(errors));
  llvm::Module module("inline_asm", context);
  prepareModule(module);
  llvm::FunctionType *type = assemblyType(context, kernel, op);
  llvm::Function *function =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, "trial", module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", function));
  llvm::SmallVector<llvm::Value *, 4> arguments;
  for (llvm::Argument &argument : function->args()) arguments.push_back(&argument);
  llvm::Value *result = builder.CreateCall(assemblyOf(context, kernel, op), arguments);
  if (type->getReturnType()->isVoidTy())
    builder.CreateRetVoid();
  else
    builder.CreateRet(result);
  compileForTrial(module);
  return errors;
}

std::string problemOf(const ir::Kernel &kernel, const ir::Op &op) {
  const auto &attrs = op.attrs<ir::AsmAttrs>();
  llvm::LLVMContext context;
  if (llvm::Error bad =
          llvm::InlineAsm::verify(assemblyType(context, kernel, op), attrs.constraints))
    return llvm::toString(std::move(bad));
  const llvm::InlineAsm::ConstraintInfoVector constraints =
      llvm::InlineAsm::ParseConstraints(attrs.constraints);
  const auto isOperand = [](const llvm::InlineAsm::ConstraintInfo &constraint) {
    return constraint.Type != llvm::InlineAsm::isClobber;
  };
  const auto operands = static_cast<size_t>(llvm::count_if(constraints, isOperand));
  if (const auto unknown = unknownOperand(attrs.text, operands)) return *unknown;
  return assemblerErrors(kernel, op);
}

} // namespace

llvm::InlineAsm *assemblyOf(llvm::LLVMContext &context, const ir::Kernel &kernel,
                            const ir::Op &op) {
  const auto &attrs = op.attrs<ir::AsmAttrs>();
  constexpr bool kHasSideEffects = true;
  return llvm::InlineAsm::get(assemblyType(context, kernel, op), attrs.text, attrs.constraints,
                              kHasSideEffects);
}

bool checkAssembly(const ir::Kernel &kernel, Diagnostics &diagnostics) {
  bool isFine = true;
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    if (op.kind != ir::OpKind::InlineAsm) return;
    const std::string &target = op.attrs<ir::AsmAttrs>().target;
    if (target != machine().name) {
      diagnostics.report(Diag::ForeignAssembly, op.where, target, machine().name);
      isFine = false;
    } else if (const std::string problem = problemOf(kernel, op); !problem.empty()) {
      diagnostics.report(Diag::BadAssembly, op.where, problem);
      isFine = false;
    }
  });
  return isFine;
}

} // namespace imbrex::host
