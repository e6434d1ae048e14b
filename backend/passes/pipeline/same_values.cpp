#include "backend/passes/pipeline/same_values.h"

#include "backend/analysis/effects.h"
#include "llvm/ADT/STLExtras.h"

namespace imbrex::passes::pipeline {

using namespace ir;

SameValues::Number SameValues::operator()(ValueId value) {
  if (const auto found = numbers_.find(value); found != numbers_.end()) return found->second;
  const Op *op = kernel_.definition(value);
  const bool isPure = op != nullptr && analysis::isPure(*op) && op->regions.empty();
  if (!isPure) return numbers_[value] = next_++;
  Expression expression{
      .kind = op->kind, .attributes = op->attributes, .operands = {}, .result = 0};
  for (const ValueId operand : op->operands) expression.operands.push_back((*this)(operand));
  while (op->result(expression.result) != value) ++expression.result;
  const auto found =
      llvm::find_if(expressions_, [&](const auto &known) { return known.first == expression; });
  if (found != expressions_.end()) return numbers_[value] = found->second;
  expressions_.emplace_back(std::move(expression), next_);
  return numbers_[value] = next_++;
}

void SameValues::setIndex(ValueId index, std::uint32_t loop) {
  const auto [known, isNew] = indices_.try_emplace(loop, next_);
  if (isNew) ++next_;
  numbers_[index] = known->second;
}

} // namespace imbrex::passes::pipeline
