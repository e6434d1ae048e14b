#include "backend/passes/rules/match.h"

#include <algorithm>
#include <utility>

namespace imbrex::passes::rules {
namespace {

using namespace ir;

bool isInDomain(Domain domain, const Type &type) {
  if (!type.isTile()) return (domain & kPointers) != 0;
  return contains(domain, info(type.element()).family);
}

class Matcher {
public:
  /// `exchanged` has a bit for each node whose operands are taken in the other order.
  Matcher(const Kernel &kernel, const Rule &rule, unsigned exchanged)
      : kernel_(&kernel), pattern_(&rule.left), domain_(rule.domain), exchanged_(exchanged) {}

  bool matchesOp(size_t position, const Op &op) {
    const Node &node = pattern_->nodes[position];
    if (op.kind != node.kind || op.operands.size() != node.operandCount) return false;
    if (!bind(node.sort, kernel_->type(op.result()))) return false;
    if ((exchanged_ >> position & 1) != 0)
      return matchesOperands(node, {op.operand(1), op.operand(0)});
    return matchesOperands(node, op.operands);
  }

  Bindings bindings;

private:
  bool matchesOperands(const Node &node, llvm::ArrayRef<ValueId> operands) {
    for (size_t i = 0; i < operands.size(); ++i)
      if (!matchesValue(node.operands[i], operands[i])) return false;
    return true;
  }

  bool matchesValue(size_t position, ValueId value) {
    const Node &node = pattern_->nodes[position];
    switch (node.form) {
    case Node::Form::Operation: {
      const Op *op = kernel_->definition(value);
      return op && matchesOp(position, *op);
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
    if (sort == Sort::T && !isInDomain(domain_, type)) return false;
    return bound->element() == type.element() && bound->form() == type.form();
  }

  const Kernel *kernel_;
  const Pattern *pattern_;
  Domain domain_;
  unsigned exchanged_;
};

/// A rounding is between two floats: where a rule makes the operand of a cast another value, that
/// must be one of a float, or there must be nothing to say.
bool mayRound(const Op &root, const std::optional<Type> &operand) {
  if (root.kind != OpKind::Cast || root.attrs<CastAttrs>() == CastAttrs{} || !operand) return true;
  return isFloat(operand->element()) || isNarrowFloat(operand->element());
}

bool isAllowed(const Rule &rule, const Op &root, Bindings &found) {
  if (!mayRound(root, found.type(Sort::T))) return false;
  const auto element = [&](Sort sort) {
    return found.type(sort) ? found.type(sort)->element() : ElementKind::Bool;
  };
  return !rule.when || rule.when(element(Sort::T), element(Sort::U), element(Sort::V));
}

} // namespace

std::optional<Bindings> match(const Kernel &kernel, const Rule &rule, const Op &root) {
  // Each choice of orders, from none exchanged on: the subsets of a set of bits.
  unsigned exchanged = 0;
  do {
    Matcher matcher(kernel, rule, exchanged);
    if (matcher.matchesOp(rule.left.size - 1u, root) && isAllowed(rule, root, matcher.bindings))
      return matcher.bindings;
    exchanged = (exchanged - rule.left.exchangeable) & rule.left.exchangeable;
  } while (exchanged != 0);
  return std::nullopt;
}

} // namespace imbrex::passes::rules
