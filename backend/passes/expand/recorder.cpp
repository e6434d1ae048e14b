#include "backend/passes/expand/recorder.h"

namespace imbrex::passes::expand {

using namespace ir;

Builder Recorder::builder() const {
  Builder builder(*kernel_, *block_);
  builder.setLocation(where_);
  return builder;
}

ValueId Recorder::op(OpKind kind, llvm::ArrayRef<ValueId> operands, ElementKind result) {
  return builder().create(kind, operands, typeOf(result)).result();
}

ValueId Recorder::constant(ElementKind element, std::uint64_t bits) {
  return builder().constantBits(typeOf(element), bits);
}

ValueId Recorder::any(ValueId condition) {
  if (shape_.rank() == 0) return condition;
  Builder build = builder();
  const ValueId row = build.reshape(condition, Shape{shape_.elements()});
  return build
      .create(OpKind::Reduce, row, Type::tile(ElementKind::Bool),
              ReduceAttrs{.combine = Combine::Or})
      .result();
}

} // namespace imbrex::passes::expand
