#include "backend/passes/pipeline/trip_writer.h"

#include "backend/passes/pipeline/count_trips.h"
#include "backend/passes/rewriting.h"

namespace imbrex::passes::pipeline {

using namespace ir;

TripWriter::TripWriter(Kernel &kernel, const Op &loop, const LoopLoads &loads)
    : kernel_(&kernel), loop_(loop), body_(loop.regions[0]), loads_(loads),
      step_(*constantInteger(kernel, loop.operand(2))) {
  for (const auto &op : body_.ops) ops_.push_back(op.get());
  const Op &yield = *ops_.back();
  yielded_.assign(yield.operands.begin(), yield.operands.end());
}

Renamed TripWriter::enter(Builder &to, ValueId index, llvm::ArrayRef<ValueId> carried) {
  Renamed names{{body_.arguments[0], index}};
  for (const std::size_t number : loads_.carried) {
    names[body_.arguments[firstCarriedArgument(loop_) + number]] = carried.front();
    carried = carried.drop_front();
  }
  repeat(to, loads_.addresses, names);
  return names;
}

std::vector<ValueId> TripWriter::next(Builder &to, Renamed &names) {
  repeat(to, loads_.steps, names);
  std::vector<ValueId> values;
  for (const std::size_t number : loads_.carried)
    values.push_back(renamed(yielded_[number], names));
  return values;
}

std::vector<ValueId> TripWriter::first() const {
  std::vector<ValueId> values;
  for (const std::size_t number : loads_.carried)
    values.push_back(loop_.operand(firstCarriedOperand(loop_) + number));
  return values;
}

std::vector<ValueId> TripWriter::present() const {
  std::vector<ValueId> values;
  for (const std::size_t number : loads_.carried)
    values.push_back(body_.arguments[firstCarriedArgument(loop_) + number]);
  return values;
}

ValueId TripWriter::ahead(Builder &to, ValueId index, std::int64_t trips) {
  if (trips == 0) return index;
  return to.elementwise(OpKind::Add, {index, to.integer(kernel_->type(index), trips * step_)});
}

ValueId TripWriter::distanceFrom(Builder &to, ValueId index) {
  const ValueId distance = to.elementwise(OpKind::Sub, {loop_.operand(1), index});
  const ElementKind element = kernel_->type(distance).element();
  return isSigned(element) ? to.bitcast(distance, withoutSign(element)) : distance;
}

ValueId TripWriter::wholeDistance(Builder &to) {
  const ValueId low = loop_.operand(0), distance = distanceFrom(to, low);
  const ValueId runs = to.elementwise(OpKind::Lt, {low, loop_.operand(1)});
  const ValueId none = to.integer(kernel_->type(distance), 0);
  return to.elementwise(OpKind::Select, {runs, distance, none});
}

ValueId TripWriter::isMore(Builder &to, ValueId distance, std::int64_t trips) {
  const ValueId least = to.integer(kernel_->type(distance), trips * step_);
  return to.elementwise(OpKind::Gt, {distance, least});
}

/// Some ops of the body once more, for the trip whose values have these names.
void TripWriter::repeat(Builder &to, const std::set<const Op *> &ops, Renamed &names) {
  for (const Op *op : ops_)
    if (ops.contains(op) && !names.contains(op->result())) copyOp(to, *op, names);
}

} // namespace imbrex::passes::pipeline
