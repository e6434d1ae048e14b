#include "backend/passes/pipeline/pipeline_loops.h"

#include "backend/passes/dce.h"
#include "backend/passes/pipeline/apply_plan.h"
#include "backend/passes/pipeline/stage_loads.h"
#include "backend/passes/rewriting.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

namespace imbrex::passes {
namespace {

using namespace ir;
using namespace pipeline;

class Pass {
public:
  Pass(Kernel &kernel, const PassContext &context) : kernel_(&kernel), context_(context) {}

  void run() {
    visit(kernel_->body());
    if (isChanged_) readAsUsed();
    if (isChanged_) dropDeadCode(*kernel_, context_);
  }

private:
  void visit(Block &block) {
    for (std::size_t i = 0; i < block.ops.size(); ++i) {
      Op *op = block.ops[i].get();
      for (Block &region : op->regions) visit(region);
      if (op->kind != OpKind::For || op->attrs<ForAttrs>().pipelined == 0) continue;
      pipeline(*op, block, i);
      while (block.ops[i].get() != op) ++i; // what was put in front of it
    }
  }

  void pipeline(const Op &loop, Block &block, std::size_t at) {
    const analysis::AxisAnalysis facts(*kernel_, context_.assumptions);
    const LoopLoads loads = studyLoop(*kernel_, loop, facts, context_);
    std::string why = loop.attrs<ForAttrs>().pipelined == 1 ? "one slot lets nothing overlap"
                      : loads.loads.empty() && loads.leftAlone.empty() ? "it has no loads"
                                                                       : "";
    const bool canRun = why.empty() && !loads.loads.empty();
    if (!hasCopies(context_.machine)) return stage(block, at, loads, why);
    std::optional<LoopPlan> plan;
    if (canRun)
      plan = planLoop(*kernel_, loop, loads, ringRoom(*kernel_, context_.machine), context_, why);
    const bool canStage =
        context_.machine.asyncCopies.areInLaneOrder && loop.attrs<ForAttrs>().pipelined != 1;
    if (!plan && canStage) return stageInstead(block, at, facts, loads, why);
    explain(loop, loads, plan, why);
    if (!plan) return;
    applyPlan(*kernel_, block, at, loads, *plan);
    isChanged_ = true;
  }

  /// What copies in lane order cannot do, registers can.
  void stageInstead(Block &block, std::size_t at, const analysis::AxisAnalysis &facts,
                    const LoopLoads &copies, const std::string &why) {
    machine::Machine machine = context_.machine;
    machine.asyncCopies = {};
    const PassContext without(context_.diagnostics, machine, context_.assumptions);
    stage(block, at, studyLoop(*kernel_, *block.ops[at], facts, without), "");
    for (const LeftAlone &left : copies.leftAlone)
      say("  " + toText(left.where) + " is not copied: " + left.why);
    if (!why.empty()) say("  nothing is copied: " + why);
  }

  void stage(Block &block, std::size_t at, const LoopLoads &loads, std::string why) {
    const Op &loop = *block.ops[at];
    const bool canRun = why.empty() && !loads.loads.empty();
    if (canRun) why = tooManyRegisters(*kernel_, loads, context_.machine);
    explainStaging(loop, loads, canRun, why);
    if (!canRun || !why.empty()) return;
    stageLoads(*kernel_, block, at, loads);
    isChanged_ = true;
  }

  // --- why ---

  void say(const std::string &line) const {
    if (context_.explanation) *context_.explanation += line + "\n";
  }

  void sayLoop(const Op &loop, bool isPipelined, const std::string &how, const std::string &why) {
    say("pipelined 'for' at " + toText(loop.where) + ": " +
        (isPipelined ? how : "as it is" + (why.empty() ? "" : ", for " + why)));
  }

  void sayLoad(const AheadLoad &load, const std::string &how) const {
    say("  '" + std::string(info(load.op->kind).mnemonic) + "' at " + toText(load.op->where) +
        " runs ahead, in " + how);
  }

  void sayLeftAlone(const LoopLoads &loads) const {
    for (const LeftAlone &left : loads.leftAlone)
      say("  " + toText(left.where) + " does not run ahead: " + left.why);
  }

  void explain(const Op &loop, const LoopLoads &loads, const std::optional<LoopPlan> &plan,
               const std::string &why) {
    sayLoop(loop, plan.has_value(), plan ? std::to_string(plan->slots) + " slots" : "", why);
    for (const AheadLoad &load : loads.loads)
      if (plan)
        sayLoad(load,
                "copies of " +
                    std::to_string(load.width *
                                   storageBits(kernel_->type(load.op->result()).element()) / 8) +
                    " bytes");
    sayLeftAlone(loads);
    if (plan && context_.explanation) *context_.explanation += plan->explanation;
  }

  void explainStaging(const Op &loop, const LoopLoads &loads, bool canRun, const std::string &why) {
    const bool isStaged = canRun && why.empty();
    sayLoop(loop, isStaged,
            "one trip ahead in registers, for " + std::string(context_.machine.name) +
                (hasCopies(context_.machine) ? " has no asynchronous copies of such loads"
                                             : " has no asynchronous copies"),
            why);
    for (const AheadLoad &load : loads.loads)
      if (isStaged) sayLoad(load, "registers");
    sayLeftAlone(loads);
  }

  /// A tile that all want in another layout is read in that.
  void readAsUsed() {
    std::map<ValueId, std::vector<Op *>> users;
    walk(kernel_->body(), [&](Op &op) {
      for (const ValueId operand : op.operands) users[operand].push_back(&op);
    });
    Replacements replaced;
    walk(kernel_->body(), [&](Op &op) {
      if (op.kind != OpKind::RingRead) return;
      const std::vector<Op *> &wanting = users[op.result()];
      const auto layoutOf = [&](const Op *user) { return kernel_->layoutOf(user->result()); };
      if (wanting.empty() || llvm::any_of(wanting, [&](const Op *user) {
            return user->kind != OpKind::ConvertLayout || layoutOf(user) != layoutOf(wanting[0]);
          }))
        return;
      kernel_->setLayout(op.result(), layoutOf(wanting[0]));
      for (const Op *user : wanting) replaced.replace(user->result(), op.result());
    });
    walk(kernel_->body(), [&](Op &op) { replaced.applyTo(op); });
  }

  Kernel *kernel_;
  const PassContext &context_;
  bool isChanged_ = false;
};

} // namespace

void pipelineLoops(Kernel &kernel, const PassContext &context) { Pass(kernel, context).run(); }

} // namespace imbrex::passes
