#include "backend/passes/expand/expansion_recorder.h"

#include "backend/passes/rewriting.h"

#include <set>

namespace imbrex::passes::expand {

using namespace ir;

Builder ExpansionRecorder::builder() const {
  Builder builder(*kernel_, *block_);
  builder.setLocation(where_);
  return builder;
}

ValueId ExpansionRecorder::op(OpKind kind, llvm::ArrayRef<ValueId> operands, ElementKind result) {
  return builder().create(kind, operands, typeOf(result)).result();
}

ValueId ExpansionRecorder::constant(ElementKind element, std::uint64_t bits) {
  return builder().constantBits(typeOf(element), bits);
}

ValueId ExpansionRecorder::any(ValueId condition) {
  if (shape_.rank() == 0) return condition;
  Builder build = builder();
  const ValueId row = build.reshape(condition, Shape{shape_.elements()});
  return build
      .create(OpKind::Reduce, row, Type::tile(ElementKind::Bool),
              ReduceAttrs{.combine = Combine::Or})
      .result();
}

ValueId ExpansionRecorder::addResult(Op &branch, const Type &type) {
  const ValueId result = kernel_->newValue(type);
  kernel_->setDefinition(result, &branch);
  branch.results.push_back(result);
  return result;
}

/// Of the ops from `first` on, keep those that the value is made of.
void ExpansionRecorder::dropBut(std::size_t first, ValueId value) {
  std::set<ValueId> needed{value};
  std::vector<std::unique_ptr<Op>> &ops = block_->ops;
  for (std::size_t i = ops.size(); i-- > first;) {
    if (needed.contains(ops[i]->result())) {
      needed.insert(ops[i]->operands.begin(), ops[i]->operands.end());
      continue;
    }
    forget(*kernel_, *ops[i]);
    ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

} // namespace imbrex::passes::expand
