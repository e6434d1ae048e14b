#include "backend/passes/rules/match.h"

#include <algorithm>
#include <utility>

#include "backend/analysis/algebra.h"

namespace imbrex::passes::rules {
namespace {

using namespace ir;

class Matcher {
public:
  Matcher(const Kernel &kernel, const Pattern &pattern) : kernel_(&kernel), pattern_(&pattern) {}

  bool matchesOp(const Node &node, const Op &op) {
    if (op.kind != node.kind || op.operands.size() != node.operandCount) return false;
    if (!bind(node.sort, kernel_->type(op.result()))) return false;
    const Bindings before = bindings;
    if (matchesOperands(node, op.operands)) return true;
    if (analysis::exchanged(op.kind) != op.kind) return false;
    bindings = before;
    return matchesOperands(node, {op.operand(1), op.operand(0)});
  }

  Bindings bindings;

private:
  bool matchesOperands(const Node &node, llvm::ArrayRef<ValueId> operands) {
    for (size_t i = 0; i < operands.size(); ++i)
      if (!matchesValue(pattern_->nodes[node.operands[i]], operands[i])) return false;
    return true;
  }

  bool matchesValue(const Node &node, ValueId value) {
    switch (node.form) {
    case Node::Form::Operation: {
      const Op *op = kernel_->definition(value);
      return op && matchesOp(node, *op);
    }
    case Node::Form::Anything: return bindWildcard(node, value);
    case Node::Form::Constant: {
      const auto bits = constantBits(*kernel_, value);
      if (!bits || !bindWildcard(node, value)) return false;
      return !node.test || node.test(kernel_->type(value).element(), *bits);
    }
    case Node::Form::Exactly: {
      const auto bits = constantBits(*kernel_, value);
      if (!bits || !bind(node.sort, kernel_->type(value))) return false;
      return *bits == literalBits(node.literal, kernel_->type(value).element());
    }
    }
    return false;
  }

  bool bindWildcard(const Node &node, ValueId value) {
    if (!bind(node.sort, kernel_->type(value))) return false;
    ValueId &bound = bindings.value(node);
    if (!bound.valid()) bound = value;
    return bound == value || sameConstant(bound, value);
  }

  bool sameConstant(ValueId a, ValueId b) const {
    const auto bits = constantBits(*kernel_, a);
    return bits && bits == constantBits(*kernel_, b);
  }

  bool bind(Sort sort, const Type &type) {
    if (sort == Sort::Bool) return type.isTile() && type.element() == ElementKind::Bool;
    std::optional<Type> &bound = bindings.type(sort);
    if (!bound) bound = type;
    return bound->element() == type.element() && bound->form() == type.form();
  }

  const Kernel *kernel_;
  const Pattern *pattern_;
};

bool isInDomain(Domain domain, const std::optional<Type> &type) {
  if (!type) return true;
  if (!type->isTile()) return (domain & kPointers) != 0;
  return contains(domain, info(type->element()).family);
}

} // namespace

std::optional<Bindings> match(const Kernel &kernel, const Rule &rule, const Op &root) {
  if (root.results.size() != 1) return std::nullopt;
  Matcher matcher(kernel, rule.left);
  if (!matcher.matchesOp(rule.left.root(), root)) return std::nullopt;
  Bindings &found = matcher.bindings;
  if (!isInDomain(rule.domain, found.type(Sort::T))) return std::nullopt;
  if (rule.when) {
    const auto element = [&](Sort sort) {
      return found.type(sort) ? found.type(sort)->element() : ElementKind::Bool;
    };
    if (!rule.when(element(Sort::T), element(Sort::U), element(Sort::V))) return std::nullopt;
  }
  return found;
}

} // namespace imbrex::passes::rules
