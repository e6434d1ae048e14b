#pragma once

#include "backend/ir/builder.h"
#include "backend/passes/expand/demand_order.h"

#include <memory>
#include <utility>
#include <vector>

namespace imbrex::passes::expand {

/// Writes the ops that stand for one op: elementwise ones on tiles of its shape, at its place in
/// the user's source.
class ExpansionRecorder {
public:
  ExpansionRecorder(ir::Kernel &kernel, ir::Block &block, const ir::Shape &shape, Location where,
                    bool mayBranch)
      : kernel_(&kernel), block_(&block), shape_(shape), where_(where), mayBranch_(mayBranch) {}

  ir::Kernel &kernel() const { return *kernel_; }
  const ir::Shape &shape() const { return shape_; }
  ir::Builder builder() const;
  ir::Type typeOf(ir::ElementKind element) const { return ir::Type::tile(element, shape_); }

  ir::ValueId op(ir::OpKind kind, llvm::ArrayRef<ir::ValueId> operands, ir::ElementKind result);
  ir::ValueId constant(ir::ElementKind element, std::uint64_t bits);

  /// Whether an `if` may stand here: not inside a combine.
  bool mayBranch() const { return mayBranch_; }

  /// What becomes of values that few elements ask for (`rarely` in backend/math/native.h).
  enum class RareValues : std::uint8_t {
    Select,   ///< They are computed for all, and taken where they are asked for.
    LeaveOut, ///< They are left out: right where no element asks for them.
  };
  RareValues rare() const { return rare_; }
  /// A function asks for such values where this holds.
  void askWhere(ir::ValueId condition) { asked_ = condition; }

  /// What `compute` writes, whole, on either side of a branch, if it has values that few elements
  /// ask for: with them where any element does, and without them. So an element is done with before
  /// the next one begins, and nothing of all elements waits for the branch but what it starts from.
  template <class Compute>
  ir::ValueId branchWhereAsked(Compute compute);
  /// The same by a branch that another function has made which asks for such values where this one
  /// does: the two may share work.
  template <class Compute>
  ir::ValueId joinBranch(ir::Op &branch, Compute compute);

  const ir::Block *block() const { return block_; }

private:
  ir::ValueId any(ir::ValueId condition);
  void dropBut(std::size_t first, ir::ValueId value);
  template <class Compute>
  ir::ValueId addToSide(ir::Block &side, RareValues rare, Compute compute);
  ir::ValueId addResult(ir::Op &branch, const ir::Type &type);

  ir::Kernel *kernel_;
  ir::Block *block_;
  ir::Shape shape_;
  Location where_;
  bool mayBranch_;
  RareValues rare_ = RareValues::Select;
  ir::ValueId asked_;
};

/// Before the yield, which gives it, too.
template <class Compute>
ir::ValueId ExpansionRecorder::addToSide(ir::Block &side, RareValues rare, Compute compute) {
  std::unique_ptr<ir::Op> yield = std::move(side.ops.back());
  side.ops.pop_back();
  const std::size_t first = side.ops.size();
  ir::Block *const outer = std::exchange(block_, &side);
  rare_ = rare;
  const ir::ValueId value = compute();
  block_ = outer;
  orderByDemand(side, first, value);
  yield->operands.push_back(value);
  side.ops.push_back(std::move(yield));
  return value;
}

template <class Compute>
ir::ValueId ExpansionRecorder::branchWhereAsked(Compute compute) {
  if (!mayBranch_) return compute();
  const std::size_t first = block_->ops.size();
  asked_ = {};
  rare_ = RareValues::LeaveOut;
  const ir::ValueId value = compute();
  if (!asked_.valid()) return value;
  const ir::ValueId asked = asked_;
  dropBut(first, asked);
  ir::Op &branch = builder().create(ir::OpKind::If, any(asked), {});
  branch.regions.resize(2);
  for (ir::Block &side : branch.regions) {
    ir::Builder end(*kernel_, side);
    end.setLocation(where_);
    end.create(ir::OpKind::Yield, {}, {});
  }
  return joinBranch(branch, compute);
}

template <class Compute>
ir::ValueId ExpansionRecorder::joinBranch(ir::Op &branch, Compute compute) {
  addToSide(branch.regions[0], RareValues::Select, compute);
  const ir::ValueId value = addToSide(branch.regions[1], RareValues::LeaveOut, compute);
  return addResult(branch, kernel_->type(value));
}

} // namespace imbrex::passes::expand
