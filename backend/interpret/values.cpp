#include "backend/interpret/block_run.h"
#include "backend/interpret/scalar.h"

namespace imbrex::interpret {

Flow runConstant(BlockRun &run, const ir::Op &op) {
  const ir::Shape &shape = run.type(op.result()).shape();
  const auto count = static_cast<size_t>(shape.elements());
  return run.set(op.result(),
                 Value{shape, std::vector(count, op.attrs<ir::ConstantAttrs>().bits), {}});
}

Flow runArange(BlockRun &run, const ir::Op &op) {
  const auto &attrs = op.attrs<ir::ArangeAttrs>();
  const ir::Type &type = run.type(op.result());
  Value result{type.shape(), {}, {}};
  for (std::int64_t i = 0; i < type.shape().elements(); ++i)
    result.bits.push_back(
        wrapped(static_cast<std::uint64_t>(attrs.start) +
                    static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(attrs.step),
                type.element()));
  return run.set(op.result(), std::move(result));
}

namespace {

Flow setAlongAxis(BlockRun &run, const ir::Op &op, const std::array<std::int32_t, 3> &grid) {
  const std::int32_t index = grid[static_cast<size_t>(op.attrs<ir::AxisAttrs>().axis)];
  return run.set(op.result(), Value{{}, {static_cast<std::uint32_t>(index)}, {}});
}

} // namespace

Flow runProgramId(BlockRun &run, const ir::Op &op) {
  return setAlongAxis(run, op, run.programId());
}

Flow runNumPrograms(BlockRun &run, const ir::Op &op) {
  return setAlongAxis(run, op, run.launch().grid.extents);
}

Flow runElementwise(BlockRun &run, const ir::Op &op) {
  const ir::Shape &shape = run.type(op.result()).shape();
  const ir::ElementKind element = run.type(op.operands.back()).element();
  Value result{shape, {}, {}};
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    llvm::SmallVector<std::uint64_t, 3> operands;
    for (const ir::ValueId operand : op.operands) operands.push_back(run.value(operand).at(i));
    result.bits.push_back(evaluate(op.kind, element, operands));
    if (run.type(op.result()).isPointerTile())
      result.origins.push_back(run.operand(op, operands[0] != 0 ? 1 : 2).origin(i));
  }
  return run.set(op.result(), std::move(result));
}

Flow runCast(BlockRun &run, const ir::Op &op) {
  Value result = run.operand(op, 0);
  const ir::ElementKind from = run.type(op.operand(0)).element();
  const ir::ElementKind to = run.type(op.result()).element();
  for (std::uint64_t &bits : result.bits)
    bits = convert(bits, from, to, op.attrs<ir::CastAttrs>().rounding);
  return run.set(op.result(), std::move(result));
}

// Two f4e2m1 along the last axis are one byte, the first in the low nibble; every other bitcast
// leaves each element where it is.
Flow runBitcast(BlockRun &run, const ir::Op &op) {
  const Value &source = run.operand(op, 0);
  const ir::Type &type = run.type(op.result());
  const std::int32_t from = ir::info(run.type(op.operand(0)).element()).bits;
  const std::int32_t to = ir::info(type.element()).bits;
  Value result{type.shape(), {}, source.origins};
  for (std::int64_t i = 0; i < type.shape().elements(); ++i) {
    if (from == to)
      result.bits.push_back(source.at(i));
    else if (from < to)
      result.bits.push_back(source.at(2 * i) | source.at(2 * i + 1) << from);
    else
      result.bits.push_back(wrapped(source.at(i / 2) >> (i % 2 * to), type.element()));
  }
  return run.set(op.result(), std::move(result));
}

Flow runVarNew(BlockRun &run, const ir::Op &op) { return run.passOn(op); }

Flow runVarRead(BlockRun &run, const ir::Op &op) { return run.passOn(op); }

Flow runVarWrite(BlockRun &run, const ir::Op &op) {
  return run.set(op.operand(0), run.operand(op, 1));
}

} // namespace imbrex::interpret
