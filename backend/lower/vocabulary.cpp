#include "backend/lower/vocabulary.h"

#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"

#include <numbers>

namespace imbrex::lower {

llvm::Value *Vocabulary::fast(Builder &b, ir::OpKind kind, llvm::ArrayRef<Value *> operands) const {
  const auto times = [&](Value *x, double factor) {
    return b.CreateFMul(x, llvm::ConstantFP::get(x->getType(), factor));
  };
  if (kind == ir::OpKind::Exp)
    return fastAlone(b, ir::OpKind::Exp2, {times(operands[0], std::numbers::log2e)});
  if (kind == ir::OpKind::Log)
    return times(fastAlone(b, ir::OpKind::Log2, operands), std::numbers::ln2);
  return fastAlone(b, kind, operands);
}

llvm::Intrinsic::ID Vocabulary::fastForm(ir::OpKind kind, llvm::ArrayRef<FastForm> forms) {
  const FastForm *form =
      llvm::find_if(forms, [&](const FastForm &row) { return row.kind == kind; });
  IMBREX_CHECK(form != forms.end(), "{0} has no fast form here", info(kind).mnemonic);
  return form->intrinsic;
}

void Vocabulary::lacks(std::string_view what) const {
  IMBREX_UNREACHABLE("{0} {1}", machine().name, what);
}

} // namespace imbrex::lower
