#include "backend/passes/construct_ssa.h"

#include "backend/passes/rewriting.h"
#include "backend/support/check.h"

#include <algorithm>
#include <utility>

namespace imbrex::passes {
namespace {

using namespace ir;
using Variables = std::vector<ValueId>;

class VariablesToValues {
public:
  explicit VariablesToValues(Kernel &kernel) : kernel_(&kernel), now_(kernel.valueCount()) {}

  void rewrite(Block &block) {
    std::vector<std::unique_ptr<Op>> ops = std::exchange(block.ops, {});
    block.ops.reserve(ops.size());
    for (auto &op : ops) {
      replaced_.applyTo(*op);
      if (info(op->kind).effect == Effect::Variable) {
        access(*op);
        forget(*kernel_, *op);
        continue;
      }
      if (isLoop(*op))
        rewriteLoop(*op);
      else if (op->kind == OpKind::If)
        rewriteIf(*op);
      else if (op->kind == OpKind::BreakIf && carried_)
        appendNow(op->operands, *carried_);
      else
        for (Block &region : op->regions) rewrite(region);
      block.ops.push_back(std::move(op));
    }
  }

private:
  ValueId &now(ValueId variable) { return now_[variable.index()]; }

  void access(const Op &op) {
    if (op.kind == OpKind::VarNew) {
      now(op.result()) = op.operand(0);
    } else if (op.kind == OpKind::VarWrite) {
      now(op.operand(0)) = op.operand(1);
    } else {
      IMBREX_CHECK(now(op.operand(0)).valid(), "a variable is read before it has a value");
      replaced_.replace(op.result(), now(op.operand(0)));
    }
  }

  /// The variables from outside the op that it assigns, in the order in which they were made. Those
  /// made inside have no value yet.
  Variables assignedIn(const Op &op) {
    Variables assigned;
    for (const Block &region : op.regions)
      walk(region, [&](const Op &inner) {
        if (inner.kind == OpKind::VarWrite && now(inner.operand(0)).valid())
          assigned.push_back(inner.operand(0));
      });
    std::ranges::sort(assigned);
    assigned.erase(std::ranges::unique(assigned).begin(), assigned.end());
    return assigned;
  }

  void rewriteLoop(Op &loop) {
    const Variables assigned = assignedIn(loop);
    Block &body = loop.regions.front();
    for (const ValueId variable : assigned) {
      loop.operands.push_back(now(variable));
      now(variable) = kernel_->newValue(kernel_->type(variable).held());
      body.arguments.push_back(now(variable));
    }
    const Variables *outer = std::exchange(carried_, &assigned);
    rewrite(body);
    carried_ = outer;
    appendNow(yieldOf(body).operands, assigned);
    becomeResults(loop, assigned);
  }

  void rewriteIf(Op &branch) {
    const Variables assigned = assignedIn(branch);
    llvm::SmallVector<ValueId, 8> before;
    appendNow(before, assigned);
    for (Block &region : branch.regions) {
      for (size_t i = 0; i < assigned.size(); ++i) now(assigned[i]) = before[i];
      rewrite(region);
      appendNow(yieldOf(region).operands, assigned);
    }
    becomeResults(branch, assigned);
  }

  void appendNow(llvm::SmallVectorImpl<ValueId> &values, const Variables &variables) {
    for (const ValueId variable : variables) values.push_back(now(variable));
  }

  void becomeResults(Op &op, const Variables &variables) {
    for (const ValueId variable : variables) {
      kernel_->addResults(op, kernel_->type(variable).held());
      now(variable) = op.results.back();
    }
  }

  Kernel *kernel_;
  std::vector<ValueId> now_; // a variable's value at this point; invalid: not made yet
  Replacements replaced_;
  const Variables *carried_ = nullptr; // by the innermost loop
};

} // namespace

void constructSsa(Kernel &kernel, const PassContext &) {
  VariablesToValues(kernel).rewrite(kernel.body());
  kernel.setStage(Stage::Tiles);
}

} // namespace imbrex::passes
