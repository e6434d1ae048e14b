#include "backend/ir/kernel.h"
#include "backend/ir/text.h"

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

TEST_CASE("a pointer comes from a parameter where all of it does") {
  imbrex::Diagnostics diagnostics;
  const auto kernel = parse(R"(
kernel @k(%n: i64, %v: view<f32, 1>, %p: ptr<f32>, %b: bool) stage tiles {
  %0 = constant 0 : i64
  %1 = constant 1 : i64
  %2 = view.data %v : ptr<f32>
  %3 = ptr.add %2, %0 : ptr<f32>
  %4 = broadcast %3 : ptr<f32>[4]
  %5 = select %b, %2, %p : ptr<f32>
  %6 = ptr.add %5, %0 : ptr<f32>
  %7 = for %0, %n, %1, %p (%8: i64, %9: ptr<f32>) {
    %10 = ptr.add %9, %1 : ptr<f32>
    yield %10
  } : ptr<f32>
}
)",
                            "k.imx", diagnostics);
  REQUIRE_MESSAGE(kernel, diagnostics.render());
  const auto &ops = kernel->body().ops;
  const auto rootOf = [&](std::size_t op) { return rootParameter(*kernel, ops[op]->result()); };
  const auto argument = [&](std::size_t i) { return kernel->body().arguments[i]; };
  CHECK(rootParameter(*kernel, argument(1)) == 1);
  CHECK(rootParameter(*kernel, argument(2)) == 2);
  for (const std::size_t op : {2, 3, 4}) CHECK(rootOf(op) == 1);
  for (const std::size_t op : {5, 6, 7})
    CHECK(rootOf(op) == std::nullopt); // one of two; any trip's
  CHECK(rootParameter(*kernel, ops[7]->regions[0].arguments[1]) == std::nullopt);
  CHECK(rootParameter(*kernel, ops[7]->regions[0].ops[0]->result()) == std::nullopt);
  CHECK(kernel->parameterNumber(argument(3)) == 3);
  CHECK(kernel->parameterNumber(ops[2]->result()) == kernel->parameterCount());
}
