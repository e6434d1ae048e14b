#include "backend/lower/values/inline_assembly.h"

#include "backend/lower/values/arithmetic.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/Error.h"

#include <cctype>

namespace imbrex::lower {
namespace {

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

/// An operand that is in none of these registers, nor where another one is.
std::optional<std::string> unknownClass(const llvm::InlineAsm::ConstraintInfo &operand,
                                        llvm::StringRef classes) {
  const auto isKnown = [&](llvm::StringRef code) {
    return llvm::all_of(code, llvm::isDigit) || (code.size() == 1 && classes.contains(code));
  };
  const std::string where = operand.isIndirect || operand.Codes.empty() ? "memory"
                            : llvm::all_of(operand.Codes, isKnown)
                                ? ""
                                : "'" + operand.Codes.front() + "'";
  if (where.empty()) return std::nullopt;
  std::string letters;
  for (const char one : classes) letters += std::string(letters.empty() ? "'" : ", '") + one + "'";
  return "an operand is in " + where + ", and can be in " + letters + " or where another one is";
}

} // namespace

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

llvm::InlineAsm *assemblyOf(llvm::LLVMContext &context, const ir::Kernel &kernel,
                            const ir::Op &op) {
  const auto &attrs = op.attrs<ir::AsmAttrs>();
  constexpr bool kHasSideEffects = true;
  return llvm::InlineAsm::get(assemblyType(context, kernel, op), attrs.text, attrs.constraints,
                              kHasSideEffects);
}

std::optional<std::string> assemblyProblem(const ir::Kernel &kernel, const ir::Op &op,
                                           llvm::StringRef classes) {
  const auto &attrs = op.attrs<ir::AsmAttrs>();
  llvm::LLVMContext context;
  if (llvm::Error bad =
          llvm::InlineAsm::verify(assemblyType(context, kernel, op), attrs.constraints))
    return llvm::toString(std::move(bad));
  const llvm::InlineAsm::ConstraintInfoVector constraints =
      llvm::InlineAsm::ParseConstraints(attrs.constraints);
  const auto isLabel = [](const llvm::InlineAsm::ConstraintInfo &constraint) {
    return constraint.Type == llvm::InlineAsm::isLabel;
  };
  if (llvm::any_of(constraints, isLabel)) return "the instructions cannot jump to a label ('!')";
  const auto isOperand = [](const llvm::InlineAsm::ConstraintInfo &constraint) {
    return constraint.Type != llvm::InlineAsm::isClobber;
  };
  const auto operands = static_cast<size_t>(llvm::count_if(constraints, isOperand));
  if (auto problem = unknownOperand(attrs.text, operands)) return problem;
  for (const llvm::InlineAsm::ConstraintInfo &constraint : constraints)
    if (isOperand(constraint))
      if (auto problem = unknownClass(constraint, classes)) return problem;
  return std::nullopt;
}

Failure<Diagnostic> badAssembly(Location where, std::string_view assembler,
                                const AssemblerError &complaint) {
  std::string text = std::string(assembler) + " says \"" + complaint.words.str() + "\"";
  if (!complaint.instruction.empty()) text += " to '" + complaint.instruction.str() + "'";
  return fail(Diag::BadAssembly, where, text);
}

} // namespace imbrex::lower
