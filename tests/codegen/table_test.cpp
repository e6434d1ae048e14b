#include "tests/codegen/kernel_table.h"

#include <doctest/doctest.h>

#include <set>

using namespace imbrex;
using namespace imbrex::testing;

namespace {

/// Every op and every element that stands in a kernel of the table.
struct Vocabulary {
  std::set<ir::OpKind> ops;
  std::set<ir::ElementKind> elements;

  void add(const ir::Kernel &kernel) {
    ir::walk(kernel.body(), [&](const ir::Op &op) { ops.insert(op.kind); });
    for (std::uint32_t i = 0; i < kernel.valueCount(); ++i)
      elements.insert(kernel.type(ir::ValueId(i)).element());
  }
};

} // namespace

TEST_CASE("the table has a kernel for every op of the language and every element") {
  const std::vector<TableKernel> table = kernelTable(machine::allMachines().front());
  CHECK(table.size() >= 20);
  Vocabulary vocabulary;
  std::set<std::string> names;
  for (const TableKernel &one : table) {
    CAPTURE(one.name);
    CHECK(names.insert(one.name).second);
    vocabulary.add(one.kernel);
  }
  for (const ir::OpKind kind : ir::allOpKinds()) {
    if (ir::firstStage(kind) > ir::Stage::Tiles || kind == ir::OpKind::ViewBytes)
      continue; // passes make it
    CAPTURE(ir::info(kind).mnemonic);
    CHECK(vocabulary.ops.contains(kind));
  }
  for (const ir::ElementKind kind : ir::allElementKinds()) {
    CAPTURE(ir::info(kind).name);
    CHECK(vocabulary.elements.contains(kind));
  }
}
