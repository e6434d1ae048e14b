#include "backend/ir/builder.h"
#include "backend/passes/construct_ssa.h"

#include <doctest/doctest.h>

using namespace imbrex;
using namespace imbrex::ir;

TEST_CASE("a loop carries what it assigns, and what it only reads stays outside") {
  const Type i32 = Type::tile(ElementKind::I32);
  Kernel kernel;
  Builder build(kernel, kernel.body());
  const ValueId zero = build.integer(i32, 0), one = build.integer(i32, 1);
  const ValueId sum = build.create(OpKind::VarNew, zero, Type::variable(i32)).result();
  const ValueId step = build.create(OpKind::VarNew, one, Type::variable(i32)).result();

  Op &loop = build.create(OpKind::For, {zero, one, one}, {});
  Block &body = loop.regions.emplace_back();
  body.arguments.push_back(kernel.newValue(i32));
  Builder inside(kernel, body);
  const ValueId before = inside.create(OpKind::VarRead, sum, i32).result();
  const ValueId by = inside.create(OpKind::VarRead, step, i32).result();
  const ValueId after = inside.elementwise(OpKind::Add, {before, by});
  inside.create(OpKind::VarWrite, {sum, after}, {});
  inside.create(OpKind::Yield, {}, {});
  const ValueId last = build.create(OpKind::VarRead, sum, i32).result();
  Op &print = build.create(OpKind::Print, last, {});

  Diagnostics diagnostics;
  passes::constructSsa(kernel, diagnostics);

  REQUIRE(loop.operands.size() == 4);
  CHECK(loop.operand(3) == zero);
  REQUIRE(body.arguments.size() == 2);
  REQUIRE(body.ops.size() == 2);
  CHECK(body.ops[0]->operand(0) == body.arguments[1]);
  CHECK(body.ops[0]->operand(1) == one);
  CHECK(body.ops[1]->operand(0) == after);
  REQUIRE(loop.results.size() == 1);
  CHECK(print.operand(0) == loop.result());
}
