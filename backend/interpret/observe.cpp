#include "backend/interpret/block_run.h"
#include "backend/ir/observed_tile.h"

#include <cstdio>

namespace imbrex::interpret {

Flow runPrint(BlockRun &run, const ir::Op &op) {
  std::vector<launching::ObservedTile> types;
  for (const ir::ValueId operand : op.operands)
    types.push_back(ir::observedTile(run.type(operand), sizeof(std::uint64_t)));
  std::vector<launching::PrintedTile> tiles;
  for (const auto &[type, operand] : llvm::zip_equal(types, op.operands))
    tiles.push_back({type, run.value(operand).bits});
  const std::string line =
      launching::printLine(run.programId(), op.attrs<ir::TextAttrs>().text, tiles) + "\n";
  if (const auto &print = run.launch().options.print)
    print(line);
  else
    std::fputs(line.c_str(), stdout);
  return Flow::Next;
}

Flow runAssert(BlockRun &run, const ir::Op &op) {
  const Value &conditions = run.operand(op, 0);
  for (std::int64_t i = 0; i < conditions.shape.elements(); ++i) {
    if (conditions.at(i) != 0) continue;
    run.launch().diagnostics.report(Diag::AssertFailed, op.where, op.attrs<ir::TextAttrs>().text,
                                    whereText(conditions.shape, i, run.programId()));
    return Flow::Failed;
  }
  return Flow::Next;
}

Flow runRequire(BlockRun &, const ir::Op &) { return Flow::Next; } // before the first block

Flow runInlineAsm(BlockRun &run, const ir::Op &op) {
  run.launch().diagnostics.report(Diag::ForeignAssembly, op.where, op.attrs<ir::AsmAttrs>().target,
                                  "interpreter");
  return Flow::Failed;
}

} // namespace imbrex::interpret
