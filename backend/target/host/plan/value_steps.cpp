#include "backend/target/host/plan/value_steps.h"

#include "llvm/Support/CheckedArithmetic.h"

#include <array>

namespace imbrex::host {

using ir::OpKind;
using ir::ValueId;

ValueSteps ValueSteps::alongBlocks(const ir::Kernel &kernel) {
  ValueSteps steps(kernel);
  for (const ValueId argument : kernel.body().arguments) steps.steps_[argument.index()] = 0;
  steps.followThrough(kernel.body());
  return steps;
}

ValueSteps ValueSteps::alongTrips(const ir::Kernel &kernel, const ir::Op &loop) {
  ValueSteps steps(kernel);
  steps.loop_ = &loop;
  std::ranges::fill(steps.steps_, 0);
  const ir::Block &body = loop.regions[0];
  ir::walk(body, [&](const ir::Op &op) {
    for (const ValueId result : op.results) steps.steps_[result.index()] = std::nullopt;
  });
  for (const ValueId argument : body.arguments) steps.steps_[argument.index()] = std::nullopt;
  steps.steps_[body.arguments[0].index()] = ir::constantInteger(kernel, loop.operand(2));
  steps.followThrough(body);
  return steps;
}

void ValueSteps::followThrough(const ir::Block &block) {
  for (const auto &op : block.ops)
    for (const ValueId result : op->results) steps_[result.index()] = stepOf(*op);
}

std::optional<std::int64_t> ValueSteps::stepOf(const ir::Op &op) const {
  if (op.kind == OpKind::ProgramId)
    return loop_ == nullptr && op.attrs<ir::AxisAttrs>().axis == 0 ? 1 : 0;
  std::optional<std::int64_t> sum = 0;
  bool isFixed = info(op.kind).effect == ir::Effect::Pure;
  for (const ValueId operand : op.operands) {
    const std::optional<std::int64_t> step = of(operand);
    isFixed &= step == 0;
    sum = sum && step ? llvm::checkedAdd(*sum, *step) : std::nullopt;
  }
  if (isFixed) return 0;
  if (loop_ != nullptr && mayWrap(op)) return std::nullopt;
  if (op.kind == OpKind::Mul) return product(op);
  constexpr std::array kAdd = {OpKind::Add, OpKind::PointerAdd, OpKind::Cast, OpKind::Broadcast,
                               OpKind::Reshape};
  return llvm::is_contained(kAdd, op.kind) ? sum : std::nullopt;
}

/// Whether the result may begin again where what is made of it does not.
bool ValueSteps::mayWrap(const ir::Op &op) const {
  constexpr std::int32_t kLeastBits = 32;
  const auto bitsOf = [&](ValueId value) { return storageBits(kernel_.type(value).element()); };
  if (bitsOf(op.result()) < kLeastBits) return true;
  return op.kind == OpKind::Cast && (op.operand(0) != loop_->regions[0].arguments[0] ||
                                     bitsOf(op.result()) < bitsOf(op.operand(0)));
}

std::optional<std::int64_t> ValueSteps::product(const ir::Op &op) const {
  for (const size_t i : {0, 1}) {
    const std::optional<std::int64_t> factor = ir::constantInteger(kernel_, op.operand(i));
    const std::optional<std::int64_t> step = of(op.operand(1 - i));
    if (factor && step) return llvm::checkedMul(*factor, *step);
  }
  return std::nullopt;
}

std::optional<llvm::SmallVector<std::int64_t, 5>> ValueSteps::ofLoad(const ir::Op &load) const {
  const ir::Type &type = kernel_.type(load.result());
  const bool isBox = load.kind == OpKind::ViewLoad;
  const auto coordinates =
      isBox ? llvm::ArrayRef(load.operands).slice(1, static_cast<size_t>(type.rank()))
            : llvm::ArrayRef(load.operands).take_front(1);
  const bool inTiles = isBox && load.attrs<ir::ViewAttrs>().unit == ir::BoxUnit::Tiles;
  llvm::SmallVector<std::int64_t, 5> moved;
  for (size_t i = 0; i < coordinates.size(); ++i) {
    const std::optional<std::int64_t> step = of(coordinates[i]);
    const std::int64_t unit = inTiles ? type.shape()[static_cast<std::int32_t>(i)] : 1;
    const std::optional<std::int64_t> by = step ? llvm::checkedMul(*step, unit) : std::nullopt;
    if (!by) return std::nullopt;
    moved.push_back(*by);
  }
  return moved;
}

} // namespace imbrex::host
