#pragma once

#include "backend/ir/kernel.h"

namespace imbrex::ir {

/// An op that stands in no block yet, with results that are new to the kernel.
std::unique_ptr<Op> makeOp(Kernel &kernel, OpKind kind, llvm::ArrayRef<ValueId> operands,
                           llvm::ArrayRef<Type> results, Attributes attributes, Location where);

/// Appends ops to a block of a kernel. `create` takes result types as given (the front end knows
/// them from C++ types); the named functions below infer them, for passes that write IR.
class Builder {
public:
  Builder(Kernel &kernel, Block &block) : kernel_(&kernel), block_(&block) {}

  Kernel &kernel() { return *kernel_; }
  Block &block() { return *block_; }
  /// The place that new ops name as theirs.
  void setLocation(Location where) { where_ = where; }

  Op &create(OpKind kind, llvm::ArrayRef<ValueId> operands, llvm::ArrayRef<Type> results,
             Attributes attributes);
  Op &create(OpKind kind, llvm::ArrayRef<ValueId> operands, llvm::ArrayRef<Type> results) {
    return create(kind, operands, results, defaultAttributes(kind));
  }
  void append(std::unique_ptr<Op> op) { block_->ops.push_back(std::move(op)); }

  /// An elementwise op on operands of one type (rules SameAsOperands, Comparison, Select).
  ValueId elementwise(OpKind kind, llvm::ArrayRef<ValueId> operands);
  ValueId constantBits(const Type &type, std::uint64_t bits);
  /// An integer constant, wrapped to the type's width.
  ValueId integer(const Type &type, std::int64_t value);
  /// A constant of f16, bf16, f32 or f64, rounded to nearest even.
  ValueId floating(const Type &type, double value);
  ValueId broadcast(ValueId value, const Shape &shape);
  ValueId reshape(ValueId value, const Shape &shape);
  ValueId cast(ValueId value, ElementKind to, Rounding rounding = Rounding::NearestEven);
  ValueId bitcast(ValueId value, ElementKind to);

private:
  Kernel *kernel_;
  Block *block_;
  Location where_;
};

} // namespace imbrex::ir
