#include "backend/passes/pipeline/count_trips.h"

#include "backend/ir/builder.h"
#include "backend/passes/rewriting.h"

#include <algorithm>
#include <array>
#include <utility>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;

bool mustCount(const Kernel &kernel, const Op &op) {
  if (op.kind != OpKind::For || op.attrs<ForAttrs>().pipelined == 0) return false;
  const auto step = constantInteger(kernel, op.operand(2));
  return !step || *step <= 0;
}

class Counter {
public:
  Counter(Kernel &kernel, Op &loop)
      : kernel_(&kernel), loop_(loop), low_(loop.operand(0)), high_(loop.operand(1)),
        step_(loop.operand(2)), counts_(Type::tile(withoutSign(kernel.type(step_).element()))) {}

  /// What stands in front of the loop.
  Block run() {
    Block before;
    Builder to(*kernel_, before);
    to.setLocation(loop_.where);
    const ValueId trips = numberOfTrips(to);
    loop_.operands[0] = to.integer(counts_, 0);
    loop_.operands[1] = trips;
    loop_.operands[2] = to.integer(counts_, 1);
    makeIndex();
    return before;
  }

private:
  ValueId numberOfTrips(Builder &to) {
    const ValueId none = to.integer(kernel_->type(step_), 0);
    const ValueId isUp = to.elementwise(OpKind::Gt, {step_, none});
    const auto upOrDown = [&](ValueId up, ValueId down) {
      return to.elementwise(OpKind::Select, {isUp, up, down});
    };
    const ValueId from = upOrDown(low_, high_), until = upOrDown(high_, low_);
    const ValueId stride = upOrDown(step_, to.elementwise(OpKind::Sub, {none, step_}));
    const ValueId runs = to.elementwise(OpKind::And, {to.elementwise(OpKind::Lt, {from, until}),
                                                      to.elementwise(OpKind::Ne, {step_, none})});
    // The last trip begins below `until`: (distance - 1) / stride strides behind the first.
    const ValueId one = to.integer(counts_, 1);
    const ValueId distance = bits(to, to.elementwise(OpKind::Sub, {until, from}), counts_);
    const ValueId last = to.elementwise(OpKind::Sub, {distance, one});
    const ValueId others = to.elementwise(OpKind::Div, {last, bits(to, stride, counts_)});
    const ValueId all = to.elementwise(OpKind::Add, {others, one});
    return to.elementwise(OpKind::Select, {runs, all, to.integer(counts_, 0)});
  }

  /// The index of a trip is made from its number.
  void makeIndex() {
    Block &body = loop_.regions[0];
    Block made;
    Builder to(*kernel_, made);
    to.setLocation(loop_.where);
    const ValueId index = body.arguments[0], trip = kernel_->newValue(counts_);
    const ValueId steps =
        to.elementwise(OpKind::Mul, {bits(to, trip, kernel_->type(step_)), step_});
    Replacements replaced;
    replaced.replace(index, to.elementwise(OpKind::Add, {low_, steps}));
    walk(body, [&](Op &op) { replaced.applyTo(op); });
    body.arguments[0] = trip;
    moveInto(body, 0, std::move(made));
  }

  ValueId bits(Builder &to, ValueId value, const Type &type) {
    return kernel_->type(value) == type ? value : to.bitcast(value, type.element());
  }

  Kernel *kernel_;
  Op &loop_;
  const ValueId low_, high_, step_;
  const Type counts_;
};

void countIn(Kernel &kernel, Block &block) {
  for (std::size_t i = 0; i < block.ops.size(); ++i) {
    Op &op = *block.ops[i];
    for (Block &region : op.regions) countIn(kernel, region);
    if (!mustCount(kernel, op)) continue;
    Block before = Counter(kernel, op).run();
    const std::size_t added = before.ops.size();
    moveInto(block, i, std::move(before));
    i += added;
  }
}

} // namespace

ElementKind withoutSign(ElementKind kind) {
  constexpr auto kUnsigned =
      std::to_array<std::pair<ElementKind, ElementKind>>({{ElementKind::I8, ElementKind::U8},
                                                          {ElementKind::I16, ElementKind::U16},
                                                          {ElementKind::I32, ElementKind::U32},
                                                          {ElementKind::I64, ElementKind::U64}});
  const auto *found =
      std::ranges::find(kUnsigned, kind, &std::pair<ElementKind, ElementKind>::first);
  return found == kUnsigned.end() ? kind : found->second;
}

void countTrips(Kernel &kernel, const PassContext & /*context*/) { countIn(kernel, kernel.body()); }

} // namespace imbrex::passes::pipeline
