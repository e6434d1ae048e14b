#include "backend/passes/rules/rewriter.h"

#include "backend/analysis/algebra.h"
#include "backend/ir/builder.h"
#include "backend/passes/constants.h"
#include "backend/passes/rewriting.h"
#include "backend/support/lifetime.h"

#include <utility>
#include <vector>

namespace imbrex::passes::rules {
namespace {

using namespace ir;

/// The rules that could concern a kind of op.
struct Candidates {
  llvm::SmallVector<const Rule *, 8> rules;
  llvm::SmallVector<const ShapeRule *, 4> shapeRules;
};

const Candidates &candidatesFor(OpKind kind) {
  static const auto &index = permanent([] {
    std::vector<Candidates> byKind(allOpKinds().size());
    for (const llvm::ArrayRef<Rule> topic : everyTopic())
      for (const Rule &rule : topic)
        byKind[static_cast<size_t>(rule.left.root().kind)].rules.push_back(&rule);
    for (const ShapeRule &rule : shape())
      for (const OpKind root : allOpKinds())
        if (rule.concerns(root)) byKind[static_cast<size_t>(root)].shapeRules.push_back(&rule);
    return byKind;
  }());
  return index[static_cast<size_t>(kind)];
}

void putConstantToTheRight(const Kernel &kernel, Op &op) {
  const auto partner = analysis::exchanged(op.kind);
  if (!partner || !constantBits(kernel, op.operand(0)) || constantBits(kernel, op.operand(1)))
    return;
  std::swap(op.operands[0], op.operands[1]);
  op.kind = *partner;
}

} // namespace

const Op *Rewriter::definition(ValueId value, OpKind kind) const {
  const Op *op = kernel_->definition(value);
  return op && op->kind == kind ? op : nullptr;
}

ValueId Rewriter::create(OpKind kind, llvm::ArrayRef<ValueId> operands, const Type &result,
                         Attributes attributes) {
  return place(makeOp(*kernel_, kind, operands, result, std::move(attributes), where_));
}

ValueId Rewriter::place(std::unique_ptr<Op> op) {
  if (const ValueId value = simpler(*op); value.valid()) {
    forget(*kernel_, *op);
    return value;
  }
  block_->ops.push_back(std::move(op));
  return block_->ops.back()->result();
}

/// What gives the same value as the op; invalid where nothing simpler is known.
ValueId Rewriter::simpler(Op &op) {
  putConstantToTheRight(*kernel_, op);
  if (const auto bits = constantResult(*kernel_, op)) return constant(type(op.result()), *bits);
  const Candidates &candidates = candidatesFor(op.kind);
  for (const Rule *rule : candidates.rules)
    if (auto bindings = match(*kernel_, *rule, op)) return build(*rule, *bindings, op);
  for (const ShapeRule *rule : candidates.shapeRules)
    if (const ValueId value = rule->apply(*this, op); value.valid()) return value;
  return {};
}

ValueId Rewriter::build(const Rule &rule, Bindings &bindings, const Op &root) {
  const Shape shape = type(root.result()).shape(); // a copy: new values move the kernel's types
  const auto typeOf = [&](Sort sort) {
    return sort == Sort::Bool ? Type::tile(ElementKind::Bool, shape)
                              : bindings.type(sort)->withShape(shape);
  };
  std::array<ValueId, Pattern::kMostNodes> built;
  for (size_t i = 0; i < rule.right.size; ++i) {
    const Node &node = rule.right.nodes[i];
    if (node.form == Node::Form::Operation) {
      llvm::SmallVector<ValueId, 3> operands;
      for (size_t k = 0; k < node.operandCount; ++k) operands.push_back(built[node.operands[k]]);
      built[i] = create(node.kind, operands, typeOf(node.sort),
                        node.kind == root.kind ? root.attributes : defaultAttributes(node.kind));
    } else if (node.form == Node::Form::Exactly) {
      const Type type = typeOf(node.sort);
      built[i] = constant(type, literalBits(node.literal, type.element()));
    } else {
      built[i] = bindings.value(node);
    }
  }
  return built[rule.right.size - 1u];
}

} // namespace imbrex::passes::rules
