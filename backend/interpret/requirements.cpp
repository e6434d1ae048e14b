#include "backend/interpret/requirements.h"

#include "backend/interpret/scalar.h"
#include "backend/ir/constant_text.h"
#include "backend/ir/requirement.h"
#include "backend/support/check.h"
#include "backend/support/float_state.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace imbrex::interpret {

/// Steps in the order of the kernel's ops, which is one of definition before use.
class Requirements::Maker {
public:
  Maker(Requirements &made, const ir::Kernel &kernel) : made_(made), kernel_(kernel) {}

  void run() {
    for (const ir::Op *op : ir::requirementsOf(kernel_))
      for (const ir::ValueId condition : ir::conjunctsOf(kernel_, op->operand(0)))
        made_.tests_.push_back(testOf(*op, condition));
  }

private:
  Test testOf(const ir::Op &op, ir::ValueId condition) {
    Test test{.condition = stepOf(condition),
              .text = op.attrs<ir::TextAttrs>().text,
              .written = ir::writtenOut(kernel_, condition),
              .where = op.where,
              .given = {}};
    for (const ir::ValueId value : ir::givenFor(kernel_, condition)) {
      std::string name = ir::writtenOut(kernel_, value);
      const bool isNew =
          llvm::none_of(test.given, [&](const LaunchValue &other) { return other.name == name; });
      if (isNew) test.given.push_back({std::move(name), kernel_.type(value), stepOf(value)});
    }
    return test;
  }

  /// Iterative, as an author's loop may have written a long expression.
  std::size_t stepOf(ir::ValueId root) {
    llvm::SmallVector<ir::ValueId, 16> pending{root};
    while (!pending.empty()) {
      const ir::ValueId value = pending.back();
      const ir::Op *op = kernel_.definition(value);
      bool isReady = true;
      if (op && !steps_.contains(value.index()))
        for (const ir::ValueId operand : op->operands)
          if (kernel_.type(operand).isScalar() && !steps_.contains(operand.index())) {
            pending.push_back(operand);
            isReady = false;
          }
      if (!isReady) continue;
      pending.pop_back();
      if (steps_.contains(value.index())) continue;
      made_.steps_.push_back(op ? stepOf(*op) : parameterStep(value));
      steps_[value.index()] = made_.steps_.size() - 1;
    }
    return steps_[root.index()];
  }

  Step parameterStep(ir::ValueId value) const {
    return {.to = kernel_.type(value).element(), .parameter = kernel_.parameterNumber(value) + 1};
  }

  Step stepOf(const ir::Op &op) const {
    Step step{.kind = op.kind, .to = kernel_.type(op.result()).element()};
    if (op.kind == ir::OpKind::Constant) step.bits = op.attrs<ir::ConstantAttrs>().bits;
    if (op.kind == ir::OpKind::Cast) step.rounding = op.attrs<ir::CastAttrs>().rounding;
    if (op.kind == ir::OpKind::ViewExtent || op.kind == ir::OpKind::ViewStride) {
      step.parameter = kernel_.parameterNumber(op.operand(0)) + 1;
      step.axis = static_cast<std::size_t>(op.attrs<ir::AxisAttrs>().axis);
      return step;
    }
    for (const ir::ValueId operand : op.operands) {
      step.from = kernel_.type(operand).element(); // the last one's: a select begins with a bool
      step.operands.push_back(steps_.lookup(operand.index()));
    }
    return step;
  }

  Requirements &made_;
  const ir::Kernel &kernel_;
  llvm::DenseMap<std::uint32_t, std::size_t> steps_; // by value
};

Requirements::Requirements(const ir::Kernel &kernel) : kernel_(kernel.name()) {
  const DefaultFloatState state; // the texts have numbers
  Maker(*this, kernel).run();
}

std::uint64_t Requirements::computed(const Step &step, llvm::ArrayRef<std::uint64_t> values,
                                     llvm::ArrayRef<ir::Argument> arguments) const {
  if (step.parameter > 0) {
    const ir::Argument &argument = arguments[step.parameter - 1];
    if (step.kind == ir::OpKind::ViewExtent)
      return static_cast<std::uint64_t>(argument.extents[step.axis]);
    if (step.kind == ir::OpKind::ViewStride)
      return static_cast<std::uint64_t>(argument.strides[step.axis]);
    return argument.scalar;
  }
  if (step.kind == ir::OpKind::Constant) return step.bits;
  llvm::SmallVector<std::uint64_t, 3> operands;
  for (const std::size_t operand : step.operands) operands.push_back(values[operand]);
  if (step.kind == ir::OpKind::Bitcast) return operands[0];
  if (step.kind == ir::OpKind::Cast) return convert(operands[0], step.from, step.to, step.rounding);
  return evaluate(step.kind, step.from, operands);
}

std::optional<Diagnostic> Requirements::unmet(llvm::ArrayRef<ir::Argument> arguments,
                                              Location where) const {
  const DefaultFloatState state;
  llvm::SmallVector<std::uint64_t, kUsualSteps> values;
  for (const Step &step : steps_) values.push_back(computed(step, values, arguments));
  for (const Test &test : tests_) {
    if (values[test.condition] != 0) continue;
    std::string given;
    for (const LaunchValue &one : test.given)
      given += (given.empty() ? "" : ", ") + one.name + " is " +
               ir::constantToText(one.type, values[one.step]);
    return diagnostic(Diag::RequirementUnmet, where.known() ? where : test.where, kernel_,
                      test.text, test.written, given.empty() ? "that never holds" : given,
                      toText(test.where));
  }
  return std::nullopt;
}

} // namespace imbrex::interpret
