#include "backend/passes/expand/expand_products.h"

#include "backend/passes/expand/expansion.h"
#include "backend/passes/expand/scaled_operand.h"

namespace imbrex::passes {
namespace {

using namespace ir;
using expand::ExpansionRecorder;

llvm::SmallVector<ValueId, 4> scaledProduct(ExpansionRecorder &recorder, const Op &op) {
  if (op.kind != OpKind::DotScaled || isOnUnit(op)) return {};
  Builder build = recorder.builder();
  // An element times its scale is exact in f64, and leaves the range of f32.
  const ValueId a = expand::scaledOperand(build, op, 0, ElementKind::F64);
  const ValueId b = expand::scaledOperand(build, op, 1, ElementKind::F64);
  const ValueId c = build.cast(op.operand(2), ElementKind::F64);
  const Type result = recorder.kernel().type(op.result());
  const Type wide = result.withElement(ElementKind::F64);
  return {build.cast(build.create(OpKind::Dot, {a, b, c}, wide).result(), result.element())};
}

} // namespace

void expandProducts(Kernel &kernel, const PassContext &) {
  expand::Expander(kernel, scaledProduct).expandIn(kernel.body());
}

} // namespace imbrex::passes
