#include "backend/target/host/whole/whole.h"

/// Running combinations: one after the other along the axis, neighbours along the inner axes at
/// once.
namespace imbrex::host {

using llvm::Value;

class WholeEmitter::Scan {
public:
  explicit Scan(WholeEmitter &whole);
  void emit();

private:
  using Values = llvm::SmallVector<Value *, 4>;

  void emitLine(Value *outer, Value *inner);
  void emitExclusiveLine(Value *outer, Value *inner);
  /// Run a body at each index but the first.
  void forTheOthers(Value *outer, Value *inner, const std::function<void(Value *here)> &body);
  Value *position(Value *outer, Value *along, Value *inner);
  Value *splat(Value *x) {
    return lanes_ == 1 ? x : b_.CreateVectorSplat(static_cast<unsigned>(lanes_), x);
  }
  bool hasInitial() const { return attrs_.combine == ir::Combine::Region; }
  Values initial();
  Values load(Value *index);
  void store(Value *index, llvm::ArrayRef<Value *> values);
  Values running();
  void setRunning(llvm::ArrayRef<Value *> values);

  WholeEmitter &whole_;
  HostEmitter &f_;
  llvm::IRBuilder<> &b_;
  const ir::Op &op_;
  const ir::ScanAttrs &attrs_;
  size_t count_; // of operands that are scanned
  AxisSplit cut_;
  std::int32_t lanes_;
  llvm::SmallVector<llvm::AllocaInst *, 4> running_;
};

WholeEmitter::Scan::Scan(WholeEmitter &whole)
    : whole_(whole), f_(whole.f_), b_(whole.b_), op_(whole.op_), attrs_(op_.attrs<ir::ScanAttrs>()),
      count_(op_.results.size()), cut_(cutAt(f_.type(op_.operand(0)).shape(), attrs_.axis)),
      lanes_(whole.lanesFor(cut_.inner)) {
  for (size_t i = 0; i < count_; ++i) {
    llvm::Type *lane = f_.laneType(f_.type(op_.operand(i)).withShape({}));
    running_.push_back(f_.newVariable(splat(llvm::Constant::getNullValue(lane))->getType()));
  }
}

void WholeEmitter::Scan::emit() {
  f_.emitLoop(cut_.outer, [&](Value *outer) {
    f_.emitLoop(cut_.inner / lanes_, [&](Value *i) {
      Value *inner = b_.CreateMul(i, f_.index(lanes_));
      if (attrs_.exclusive)
        emitExclusiveLine(outer, inner);
      else
        emitLine(outer, inner);
    });
  });
}

void WholeEmitter::Scan::emitLine(Value *outer, Value *inner) {
  Value *first = position(outer, f_.index(0), inner);
  setRunning(load(first));
  store(first, running());
  forTheOthers(outer, inner, [&](Value *here) {
    setRunning(whole_.combine(running(), load(here)));
    store(here, running());
  });
}

void WholeEmitter::Scan::emitExclusiveLine(Value *outer, Value *inner) {
  Value *first = position(outer, f_.index(0), inner);
  const Values start = initial(), values = load(first);
  store(first, start);
  // Without an initial value of the author's, the fold begins with the first element: the identity
  // would turn -0 into 0.
  setRunning(hasInitial() ? whole_.combine(start, values) : values);
  forTheOthers(outer, inner, [&](Value *here) {
    const Values before = running(), next = load(here);
    store(here, before);
    setRunning(whole_.combine(before, next));
  });
}

void WholeEmitter::Scan::forTheOthers(Value *outer, Value *inner,
                                      const std::function<void(Value *here)> &body) {
  if (cut_.along == 1) return;
  f_.emitLoop(cut_.along - 1, [&](Value *along) {
    body(position(outer, b_.CreateAdd(along, f_.index(1)), inner));
  });
}

Value *WholeEmitter::Scan::position(Value *outer, Value *along, Value *inner) {
  if (attrs_.reverse) along = b_.CreateSub(f_.index(cut_.along - 1), along);
  Value *row = b_.CreateAdd(b_.CreateMul(outer, f_.index(cut_.along)), along);
  return b_.CreateAdd(b_.CreateMul(row, f_.index(cut_.inner)), inner);
}

WholeEmitter::Scan::Values WholeEmitter::Scan::initial() {
  Values values;
  for (size_t i = 0; i < count_; ++i) {
    const ir::Type type = f_.type(op_.operand(i)).withShape({});
    values.push_back(splat(hasInitial()
                               ? f_.scalar(op_.operand(count_ + i))
                               : startOf(attrs_.combine, type.element(), f_.laneType(type))));
  }
  return values;
}

WholeEmitter::Scan::Values WholeEmitter::Scan::load(Value *index) {
  Values values;
  for (size_t i = 0; i < count_; ++i)
    values.push_back(whole_.element(whole_.tile(op_.operand(i)), index, lanes_));
  return values;
}

void WholeEmitter::Scan::store(Value *index, llvm::ArrayRef<Value *> values) {
  for (size_t i = 0; i < count_; ++i)
    whole_.setElement(whole_.tile(op_.result(i)), index, values[i]);
}

WholeEmitter::Scan::Values WholeEmitter::Scan::running() {
  Values values;
  for (llvm::AllocaInst *variable : running_)
    values.push_back(b_.CreateLoad(variable->getAllocatedType(), variable));
  return values;
}

void WholeEmitter::Scan::setRunning(llvm::ArrayRef<Value *> values) {
  for (size_t i = 0; i < count_; ++i) b_.CreateStore(values[i], running_[i]);
}

void WholeEmitter::emitScan() { Scan(*this).emit(); }

} // namespace imbrex::host
