#pragma once

#include "backend/ir/builder.h"

#include <memory>
#include <utility>
#include <vector>

namespace imbrex::passes::expand {

/// Writes the ops that stand for one op: elementwise ones on tiles of its shape, at its place in
/// the user's source.
class Recorder {
public:
  Recorder(ir::Kernel &kernel, ir::Block &block, const ir::Shape &shape, Location where,
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
  /// if the condition holds for any element { rare() } else { common }: `rare` writes its ops into
  /// the body and says what it yields.
  template <class Rare>
  std::vector<ir::ValueId> ifAny(ir::ValueId condition, Rare rare,
                                 const std::vector<ir::ValueId> &common);

private:
  ir::ValueId any(ir::ValueId condition);

  ir::Kernel *kernel_;
  ir::Block *block_;
  ir::Shape shape_;
  Location where_;
  bool mayBranch_;
};

template <class Rare>
std::vector<ir::ValueId> Recorder::ifAny(ir::ValueId condition, Rare rare,
                                         const std::vector<ir::ValueId> &common) {
  std::vector<ir::Type> types;
  for (const ir::ValueId value : common) types.push_back(kernel_->type(value));
  ir::Op &branch = builder().create(ir::OpKind::If, any(condition), types);
  branch.regions.resize(2);
  ir::Block *outer = std::exchange(block_, &branch.regions[0]);
  const std::vector<ir::ValueId> values = rare();
  builder().create(ir::OpKind::Yield, values, {});
  block_ = &branch.regions[1];
  builder().create(ir::OpKind::Yield, common, {});
  block_ = outer;
  return {branch.results.begin(), branch.results.end()};
}

} // namespace imbrex::passes::expand
