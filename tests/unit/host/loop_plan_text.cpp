#include "tests/unit/host/loop_plan_text.h"

#include "llvm/Support/FormatVariadic.h"

namespace imbrex::host {
namespace {

std::string rootText(const Root &root, const ir::Kernel &kernel) {
  switch (root.kind) {
  case Root::Kind::Keep: {
    const ir::Op *op = kernel.definition(root.value);
    return "keep " + (op ? std::string(info(op->kind).mnemonic) : "an argument");
  }
  case Root::Kind::Store: return std::string(info(root.op->kind).mnemonic);
  case Root::Kind::Reduce: {
    const auto combine = root.op->attrs<ir::ReduceAttrs>().combine;
    return "reduce " + std::string(ir::kNames<ir::Combine>[static_cast<size_t>(combine)]);
  }
  case Root::Kind::Copy: return "copy";
  }
  return {};
}

class LoopPlanWriter {
public:
  LoopPlanWriter(const LoopPlan &plan, const ir::Kernel &kernel) : plan_(plan), kernel_(kernel) {}

  std::string steps(llvm::ArrayRef<Step> steps, const std::string &indent) {
    std::string text;
    for (const Step &step : steps) text += indent + stepText(step, indent) + "\n";
    return text;
  }

private:
  std::string stepText(const Step &step, const std::string &indent) {
    if (step.kind == Step::Kind::Nest) {
      std::string text = "nest " + toString(step.nest.space) + ":";
      for (const Root &root : step.nest.roots)
        text += (&root == &step.nest.roots.front() ? " " : ", ") + rootText(root, kernel_);
      for (const ReadAhead &ahead : step.nest.ahead)
        text += llvm::formatv(", read ahead {0} by {1:$[, ]}", info(ahead.load->kind).mnemonic,
                              llvm::make_range(ahead.step.begin(), ahead.step.end()));
      return text;
    }
    std::string text(info(step.op->kind).mnemonic);
    if (step.kind == Step::Kind::Whole) return "whole " + text + productText(step);
    if (step.kind == Step::Kind::Scalar) return "scalar " + text;
    for (const ir::Block &region : step.op->regions)
      text += "\n" + steps(plan_.steps.at(&region), indent + "  ") + indent + "end";
    return text;
  }

  static std::string productText(const Step &step) {
    using Start = ProductPlan::Start;
    std::string text;
    if (!step.inMemory.empty())
      text += ", reads " + std::to_string(step.inMemory.size()) + " by itself";
    if (step.product.keepsPanels) text += ", keeps panels";
    if (step.product.trips > 1) text += ", " + std::to_string(step.product.trips) + " trips as one";
    if (step.product.adjoins) text += ", of rows that adjoin";
    if (step.product.endsWithFactors) text += ", up to where both end";
    if (step.product.start != Start::Never) text += ", from zero";
    if (step.product.store)
      text += step.product.storesLast ? ", stores in the last trip" : ", stores";
    return text;
  }

  const LoopPlan &plan_;
  const ir::Kernel &kernel_;
};

} // namespace

std::string toText(const LoopPlan &plan, const ir::Kernel &kernel) {
  return LoopPlanWriter(plan, kernel).steps(plan.steps.at(&kernel.body()), "");
}

} // namespace imbrex::host
