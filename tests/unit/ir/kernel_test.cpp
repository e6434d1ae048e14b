#include "backend/ir/kernel.h"

#include <doctest/doctest.h>

using namespace imbrex::ir;

TEST_CASE("a value's type stays where it is while values are added") {
  Kernel kernel("grows");
  const Type tile = Type::tile(ElementKind::F32, Shape{3, 5});
  const Type &first = kernel.type(kernel.newValue(tile));
  for (int i = 0; i < 1000; ++i) kernel.newValue(Type::tile(ElementKind::I8));
  CHECK((first == tile));
  CHECK(&first == &kernel.type(ValueId(0)));
}

TEST_CASE("arithmetic, comparisons and select are elementwise; what moves or converts is not") {
  for (const OpKind kind : {OpKind::Neg, OpKind::Fma, OpKind::Tanh, OpKind::Eq, OpKind::Select})
    CHECK(isElementwise(kind));
  for (const OpKind kind : {OpKind::Constant, OpKind::Cast, OpKind::Bitcast, OpKind::Broadcast,
                            OpKind::Reduce, OpKind::Load, OpKind::VarWrite})
    CHECK_FALSE(isElementwise(kind));
}

TEST_CASE("an elementwise op has one result, no effect, and operands of the result's shape") {
  for (const OpKind kind : allOpKinds()) {
    const OpInfo &row = info(kind);
    CAPTURE(row.mnemonic);
    const bool keepsShape = row.typeRule == TypeRule::SameAsOperands ||
                            row.typeRule == TypeRule::Comparison ||
                            row.typeRule == TypeRule::Select;
    CHECK(isElementwise(kind) == keepsShape);
    if (isElementwise(kind)) CHECK((row.effect == Effect::Pure && row.results == 1));
  }
}
