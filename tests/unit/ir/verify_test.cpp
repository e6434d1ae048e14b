#include "backend/ir/builder.h"
#include "backend/ir/verify.h"

#include <doctest/doctest.h>

using namespace imbrex;
using namespace imbrex::ir;

// What the text form can say is tested by tests/golden/errors; here is what only code can get
// wrong.

namespace {

const Type kInt = Type::tile(ElementKind::I32);

std::string errorsOf(const Kernel &kernel) {
  Diagnostics diagnostics;
  const bool isRight = verify(kernel, diagnostics);
  CHECK(isRight == !diagnostics.hasErrors());
  return diagnostics.render();
}

Kernel tilesKernel() {
  Kernel kernel("k");
  kernel.setStage(Stage::Tiles);
  kernel.setWhere({.file = "k.cpp", .line = 7});
  return kernel;
}

Builder at(Kernel &kernel) {
  Builder builder(kernel, kernel.body());
  builder.setLocation({.file = "k.cpp", .line = 9});
  return builder;
}

TEST_CASE(
    "an op that moves a ring on is one that readers of schedules are asked about, and no other") {
  for (const OpKind kind : allOpKinds())
    CHECK(syncOp(kind).has_value() == (info(kind).effect == Effect::Ring));
}

} // namespace

TEST_CASE("a value is used below its definition only") {
  Kernel kernel = tilesKernel();
  const ValueId value = at(kernel).integer(kInt, 1);
  at(kernel).elementwise(OpKind::Neg, value);
  CHECK(errorsOf(kernel) == "");
  std::swap(kernel.body().ops[0], kernel.body().ops[1]);
  CHECK(errorsOf(kernel) ==
        "k.cpp:9: error: operand 1 of 'neg' cannot be seen here\n"
        "  hint: a value is used below its definition, in the same body or in one inside it\n");
}

TEST_CASE("what a body defines is not seen outside, nor by the next body") {
  Kernel kernel = tilesKernel();
  const ValueId choice = kernel.addParameter("b", Type::tile(ElementKind::Bool));
  Op &branch = at(kernel).create(OpKind::If, choice, {});
  branch.regions.resize(2);
  Builder then(kernel, branch.regions[0]), otherwise(kernel, branch.regions[1]);
  const ValueId inner = then.integer(kInt, 1);
  then.create(OpKind::Yield, {}, {});
  otherwise.create(OpKind::Yield, {}, {});
  CHECK(errorsOf(kernel) == "");
  otherwise.block().ops.clear();
  otherwise.elementwise(OpKind::Neg, inner);
  otherwise.create(OpKind::Yield, {}, {});
  at(kernel).elementwise(OpKind::Neg, inner);
  CHECK(errorsOf(kernel) ==
        "imbrex: error: operand 1 of 'neg' cannot be seen here\n"
        "  hint: a value is used below its definition, in the same body or in one inside it\n"
        "k.cpp:9: error: operand 1 of 'neg' cannot be seen here\n"
        "  hint: a value is used below its definition, in the same body or in one inside it\n");
}

TEST_CASE("a body does not see the results of its own op") {
  Kernel kernel = tilesKernel();
  const ValueId choice = kernel.addParameter("b", Type::tile(ElementKind::Bool));
  Op &branch = at(kernel).create(OpKind::If, choice, kInt);
  branch.regions.resize(2);
  for (Block &body : branch.regions)
    Builder(kernel, body).create(OpKind::Yield, branch.result(), {});
  CHECK(errorsOf(kernel).starts_with("imbrex: error: operand 1 of 'yield' cannot be seen here"));
}

TEST_CASE("a value that the kernel does not have is reported, and nothing behind it looked up") {
  Kernel kernel = tilesKernel();
  at(kernel).create(OpKind::Neg, ValueId(1000), kInt);
  at(kernel).create(OpKind::Neg, ValueId(), kInt);
  kernel.body().ops.push_back(std::make_unique<Op>());
  kernel.body().ops.back()->kind = OpKind::Constant;
  kernel.body().ops.back()->results.push_back(ValueId(1000));
  CHECK(errorsOf(kernel) ==
        "k.cpp:9: error: 'neg' names a value that the kernel does not have\n"
        "k.cpp:9: error: 'neg' names a value that the kernel does not have\n"
        "imbrex: error: 'constant' names a value that the kernel does not have\n");
  kernel.body().arguments.push_back(ValueId(1000));
  CHECK(errorsOf(kernel) ==
        "k.cpp:7: error: 'kernel' names a value that the kernel does not have\n"
        "k.cpp:9: error: 'neg' names a value that the kernel does not have\n"
        "k.cpp:9: error: 'neg' names a value that the kernel does not have\n"
        "imbrex: error: 'constant' names a value that the kernel does not have\n");
}

TEST_CASE("a value has one definition, and the kernel knows it") {
  Kernel kernel = tilesKernel();
  const ValueId value = at(kernel).integer(kInt, 1);
  const std::string twice =
      "k.cpp:9: error: 'constant' defines a value that is defined elsewhere too\n";
  SUBCASE("two ops") {
    at(kernel).integer(kInt, 2);
    kernel.body().ops[1]->results[0] = value;
    CHECK(errorsOf(kernel) == twice);
  }
  SUBCASE("an op that the kernel has forgotten") {
    kernel.setDefinition(value, nullptr);
    CHECK(errorsOf(kernel) == twice);
  }
}

TEST_CASE("an op has the attributes of its row") {
  Kernel kernel = tilesKernel();
  at(kernel).create(OpKind::ProgramId, {}, kInt, SortAttrs{});
  CHECK(errorsOf(kernel) == "k.cpp:9: error: 'program_id' has the attributes of another op\n");
}

TEST_CASE("parameters have names of their own, one each") {
  Kernel kernel = tilesKernel();
  kernel.addParameter("n", kInt);
  kernel.addParameter("n", kInt);
  CHECK(errorsOf(kernel) == "k.cpp:7: error: two parameters have the name 'n'\n");
  kernel.body().arguments.pop_back();
  CHECK(errorsOf(kernel) == "k.cpp:7: error: the kernel has 1 parameters, but 2 names for them\n");
}

TEST_CASE("a type that cannot be is reported once, at its definition") {
  Kernel kernel = tilesKernel();
  const Type large = Type::tile(ElementKind::I32, {65536, 65536});
  const ValueId value = at(kernel).constantBits(large, 0);
  at(kernel).elementwise(OpKind::Eq, {value, value});
  CHECK(errorsOf(kernel) ==
        "k.cpp:9: error: there is no type i32[65536x65536]\n"
        "  hint: a tile has at most 2147483647 elements, a view 1 to 5 axes, and an f4e2m1 has no "
        "address\n"
        "k.cpp:9: error: there is no type bool[65536x65536]\n"
        "  hint: a tile has at most 2147483647 elements, a view 1 to 5 axes, and an f4e2m1 has no "
        "address\n");
}
