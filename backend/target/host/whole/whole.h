#pragma once

#include "backend/launching/sort.h"
#include "backend/target/host/host_emitter.h"

/// Ops that take whole tiles from buffers and leave whole tiles in buffers, in loops of their own.
namespace imbrex::host {

/// A tile as a row-major sequence, cut at an axis: element (outer, along, inner).
struct AxisSplit {
  std::int64_t outer = 1, along = 1, inner = 1;
};
AxisSplit cutAt(const ir::Shape &shape, std::int32_t axis);

class WholeEmitter {
public:
  WholeEmitter(HostEmitter &emitter, const Step &step)
      : f_(emitter), b_(emitter.builder), step_(step), op_(*step.op) {}
  void emit();

private:
  class Product;
  class Scan;
  struct Tile {
    ir::Type type;
    llvm::Value *address; // null: a scalar
    llvm::Value *scalar;
  };
  Tile tile(ir::ValueId value);
  llvm::Value *element(const Tile &tile, llvm::Value *index, std::int32_t lanes = 1);
  void setElement(const Tile &tile, llvm::Value *index, llvm::Value *value);
  std::int64_t elements() const { return f_.type(op_.operand(0)).shape().elements(); }
  void forEachElement(const std::function<void(llvm::Value *)> &body);
  /// Run a body only where the element's mask is on; `mask` is an operand or none.
  void whereOn(std::optional<size_t> mask, llvm::Value *index, const std::function<void()> &body);
  void setScalarResult(size_t result, llvm::Value *value);

  void emitDot();
  void emitTreeReduce();
  void emitScan();
  void emitSort();
  void emitHistogram();
  void emitAtomic();
  llvm::Value *atomicRmw(llvm::Value *address, llvm::Value *value);
  llvm::Value *atomicLoop(llvm::Value *address, llvm::Value *value, ir::ElementKind element);
  llvm::Value *atomicCas(llvm::Value *address, llvm::Value *expected, llvm::Value *desired);
  void emitPrint();
  void emitAssert();
  void emitInlineAsm();
  llvm::SmallVector<llvm::Value *, 4> combine(llvm::ArrayRef<llvm::Value *> a,
                                              llvm::ArrayRef<llvm::Value *> b);
  std::int32_t lanesFor(std::int64_t inner);
  llvm::Value *pointerArray(llvm::ArrayRef<llvm::Value *> pointers);
  llvm::Constant *keyRule(const launching::KeyRule &rule);

  HostEmitter &f_;
  llvm::IRBuilder<> &b_;
  const Step &step_;
  const ir::Op &op_;
};

} // namespace imbrex::host
