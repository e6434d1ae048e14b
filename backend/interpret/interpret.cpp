#include "backend/interpret/interpret.h"

#include "backend/interpret/block_run.h"
#include "backend/interpret/requirements.h"

#include <bit>

namespace imbrex::interpret {
namespace {

Value argumentValue(const ir::Type &type, const ir::Argument &argument, std::int32_t number) {
  if (type.isScalar()) return {{}, {argument.scalar}, {}};
  return {{}, {std::bit_cast<std::uint64_t>(argument.data)}, {number}};
}

} // namespace

BlockRun::BlockRun(InterpretedLaunch &launch, std::int64_t block)
    : launch_(launch), programId_(programIdOf(launch.grid, block)),
      values_(launch.kernel.valueCount()) {
  launch_.memory.enterBlock(programId_, block);
  const auto &parameters = launch.kernel.body().arguments;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto number = static_cast<std::int32_t>(i);
    set(parameters[i], argumentValue(type(parameters[i]), launch_.memory.piece(number), number));
  }
}

bool BlockRun::countStep(const ir::Op &op) {
  if (++steps_ <= launch_.options.mostSteps) return true;
  launch_.diagnostics.report(Diag::StepLimit, op.where, toText(programId_), steps_ - 1);
  return false;
}

Flow BlockRun::execute(const ir::Block &body) {
  for (const auto &op : body.ops) {
    if (!countStep(*op)) return Flow::Failed;
    if (const Flow flow = runOp(*this, *op); flow != Flow::Next) return flow;
  }
  return Flow::Next;
}

llvm::SmallVector<Value, 4> BlockRun::take(llvm::ArrayRef<ir::ValueId> values) const {
  llvm::SmallVector<Value, 4> taken;
  for (const ir::ValueId id : values) taken.push_back(value(id));
  return taken;
}

bool run(const ir::Kernel &kernel, const ir::Grid &grid, llvm::ArrayRef<ir::Argument> arguments,
         Diagnostics &diagnostics, const InterpreterOptions &options) {
  if (arguments.size() != kernel.parameterCount()) {
    diagnostics.report(Diag::ArgumentCount, {}, kernel.name(), kernel.parameterCount(),
                       arguments.size());
    return false;
  }
  if (const auto unmet = Requirements(kernel).unmet(arguments, {}))
    return diagnostics.add(*unmet), false;
  InterpretedLaunch launch{kernel, grid, options, diagnostics,
                           ArgumentMemory(kernel, grid, arguments, options, diagnostics)};
  for (std::int64_t block = 0; block < grid.blocks(); ++block)
    if (BlockRun(launch, block).execute(kernel.body()) == Flow::Failed) return false;
  return true;
}

} // namespace imbrex::interpret
