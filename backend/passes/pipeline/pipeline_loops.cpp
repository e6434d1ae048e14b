#include "backend/passes/pipeline/pipeline_loops.h"

#include "backend/layout/box_layout.h"
#include "backend/passes/dce.h"
#include "backend/passes/pipeline/apply_plan.h"
#include "backend/passes/pipeline/prove_rings.h"
#include "backend/passes/pipeline/read_in_place.h"
#include "backend/passes/pipeline/read_layout.h"
#include "backend/passes/pipeline/split_body.h"
#include "backend/passes/pipeline/stage_loads.h"
#include "backend/passes/rewriting.h"
#include "backend/support/text.h"
#include "llvm/ADT/STLExtras.h"

#include <array>

namespace imbrex::passes {
namespace {

using namespace ir;
using namespace pipeline;

bool isAsked(const Op &op) { return op.kind == OpKind::For && op.attrs<ForAttrs>().pipelined != 0; }

class Pass {
public:
  /// What the pass may use: rings of so many slots, and a role of its own for loads.
  struct Limits {
    std::int32_t slots = ForAttrs::kMostSlots;
    bool hasRoles = true;
  };

  Pass(Kernel &kernel, const PassContext &context, const Limits &limits)
      : kernel_(&kernel), context_(context), limits_(limits) {}

  /// Returns what it has used.
  Limits run() {
    decideOnRoles();
    visit(kernel_->body());
    if (used_.hasRoles) explainRoles(splitBody(*kernel_, context_.machine));
    if (isChanged_) readAsUsed();
    if (isChanged_) dropDeadCode(*kernel_, context_);
    return used_;
  }

private:
  void visit(Block &block) {
    for (std::size_t i = 0; i < block.ops.size(); ++i) {
      Op *op = block.ops[i].get();
      // What is put in front of an op moves it on: rings go to the front of the kernel's body.
      const auto find = [&] {
        while (block.ops[i].get() != op) ++i;
      };
      for (Block &region : op->regions) visit(region);
      find();
      if (!isAsked(*op)) continue;
      pipeline(*op, block, i);
      find();
    }
  }

  LoopLoads study(const Op &loop, const analysis::AxisAnalysis &facts) const {
    return studyLoop(*kernel_, loop, facts, context_, waysOf(context_.machine));
  }

  /// Whether the kernel gets a role of its own for all that the engine loads: for all or for none,
  /// as it has but one body that can be taken apart.
  void decideOnRoles() {
    if (!context_.machine.asyncCopies.haveEngine) return;
    const analysis::AxisAnalysis facts(*kernel_, context_.assumptions);
    std::vector<const Op *> loops;
    std::vector<LoopLoads> loads;
    walk(kernel_->body(), [&](const Op &op) {
      if (!isAsked(op)) return;
      LoopLoads studied = study(op, facts);
      if (!studied.has(Way::Boxes)) return;
      loops.push_back(&op);
      loads.push_back(std::move(studied));
    });
    const bool areMixed =
        llvm::any_of(loads, [](const LoopLoads &of) { return !of.areAll(Way::Boxes); });
    whyOneRole_ = areMixed ? "a loop also has copies that are the threads' own"
                           : whyNoLoader(*kernel_, loops, loads, context_.machine);
    if (!limits_.hasRoles && whyOneRole_.empty())
      whyOneRole_ = "no proof was found of a role of its own beside all loops";
  }

  void pipeline(const Op &loop, Block &block, std::size_t at) {
    const analysis::AxisAnalysis facts(*kernel_, context_.assumptions);
    const LoopLoads loads = study(loop, facts);
    std::string why = loop.attrs<ForAttrs>().pipelined == 1 ? "one slot lets nothing overlap"
                      : loads.loads.empty() && loads.leftAlone.empty()
                          ? "it has no loads of its own"
                          : "";
    const bool canRun = why.empty() && !loads.loads.empty();
    if (!hasCopies(context_.machine)) return stage(block, at, loads, why);
    std::optional<LoopPlan> plan;
    RingRoom room = ringRoom(*kernel_, context_.machine, loads.inPlace);
    room.slots = limits_.slots;
    const bool isOfRoles = loads.has(Way::Boxes) && whyOneRole_.empty();
    if (canRun)
      plan = (isOfRoles ? planRoles : planLoop)(*kernel_, loop, loads, room, context_, why);
    const bool canStage =
        context_.machine.asyncCopies.areInLaneOrder && loop.attrs<ForAttrs>().pipelined != 1;
    if (!plan && canStage) return stageInstead(block, at, facts, loads, why);
    explain(loop, loads, plan, why);
    if (!plan) return;
    Op &planned = *block.ops[at];
    applyPlan(*kernel_, block, at, loads, *plan);
    readInPlace(*kernel_, planned);
    isChanged_ = true;
    used_.slots = std::max(used_.slots, plan->slots);
    used_.hasRoles |= isOfRoles;
  }

  /// What copies in lane order cannot do, registers can.
  void stageInstead(Block &block, std::size_t at, const analysis::AxisAnalysis &facts,
                    const LoopLoads &copies, const std::string &why) {
    stage(block, at, studyLoop(*kernel_, *block.ops[at], facts, context_, {Way::Registers}), "");
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
      if (plan) sayLoad(load, whatBrings(load));
    if (plan && loads.has(Way::Boxes))
      say(whyOneRole_.empty() ? "  by a role of its own"
                              : "  by the threads that compute, for " + whyOneRole_);
    sayLeftAlone(loads);
    if (plan && context_.explanation) *context_.explanation += plan->explanation;
  }

  void explainRoles(const RolesAttrs &roles) const {
    say("roles: " + std::to_string(roles.warps) +
        (roles.warps == 1 ? " warp loads, " : " warps load, ") +
        std::to_string(kernel_->threads().warps) +
        (kernel_->threads().warps == 1 ? " computes; " : " compute; ") +
        (roles.takes == 0
             ? "all keep the registers of the launch"
             : "a thread that loads keeps " + std::to_string(roles.releases) +
                   " registers, one that computes gets " + std::to_string(roles.takes) + ", for " +
                   counted(roles.blocks, "block") + " on a core"));
  }

  std::string whatBrings(const AheadLoad &load) const {
    const Type &type = kernel_->type(load.op->result());
    const std::int32_t bytes = storageBits(type.element()) / 8;
    if (load.way == Way::Copies)
      return "copies of " + std::to_string(load.width * bytes) + " bytes" +
             (load.whyNoBox.empty() ? "" : ", and not by the engine: " + load.whyNoBox);
    const auto boxes = layout::planBoxes(type.shape().extents(), bytes);
    return "boxes of " + toString(Shape(boxes->box)) + " that the engine loads, " +
           (boxes->span > 0 ? "swizzled in " + std::to_string(boxes->span) + " bytes"
                            : "not swizzled");
  }

  void explainStaging(const Op &loop, const LoopLoads &loads, bool canRun, const std::string &why) {
    const bool isStaged = canRun && why.empty();
    sayLoop(loop, isStaged,
            "one trip ahead in registers" + (hasCopies(context_.machine)
                                                 ? std::string() // whoever asks for it says why
                                                 : ", for " + std::string(context_.machine.name) +
                                                       " has no asynchronous copies"),
            why);
    for (const AheadLoad &load : loads.loads)
      if (isStaged) sayLoad(load, "registers");
    sayLeftAlone(loads);
  }

  /// A tile that all want in another layout is read in that.
  void readAsUsed() {
    Replacements replaced;
    walk(kernel_->body(), [&](const Op &op) {
      if (op.kind != OpKind::SharedLoad) return;
      const auto wanted = wantedLayout(*kernel_, op.result());
      if (!wanted) return;
      kernel_->setLayout(op.result(), *wanted);
      walk(kernel_->body(), [&](const Op &user) {
        if (llvm::is_contained(user.operands, op.result()))
          replaced.replace(user.result(), op.result());
      });
    });
    walk(kernel_->body(), [&](Op &op) { replaced.applyTo(op); });
  }

  Kernel *kernel_;
  const PassContext &context_;
  const Limits limits_;
  std::string whyOneRole_; // of the kernel's boxes; empty: a role of its own loads them
  bool isChanged_ = false;
  Limits used_ = {.slots = 1, .hasRoles = false};
};

/// How many loops that are to be pipelined stand in each other.
std::size_t deepestNest(const Block &block) {
  std::size_t deepest = 0;
  for (const auto &op : block.ops)
    for (const Block &region : op->regions)
      deepest = std::max(deepest, deepestNest(region) + (isAsked(*op) ? 1 : 0));
  return deepest;
}

/// More slots take a proof more than its share of a compilation, and soon more than it has, even
/// where each loop has one load.
std::int32_t slotsOfNest(std::size_t loops) {
  constexpr auto kSlots = std::to_array<std::int32_t>({ForAttrs::kMostSlots, 6, 4});
  return kSlots[std::clamp<std::size_t>(loops, 1, kSlots.size()) - 1];
}

} // namespace

void pipelineLoops(Kernel &kernel, const PassContext &context) {
  int loops = 0;
  walk(kernel.body(), [&](const Op &op) { loops += isLoop(op) ? 1 : 0; });
  const std::int32_t most = slotsOfNest(deepestNest(kernel.body()));
  if (loops < 2) {
    Pass(kernel, context, {.slots = most}).run();
    return;
  }
  // Of loops in each other or in a row a proof may have more runs to look at than it is willing to:
  // then less is tried, down to loops as they are.
  const auto tries = std::to_array<Pass::Limits>({{.slots = most},
                                                  {.slots = most, .hasRoles = false},
                                                  {.slots = 5, .hasRoles = false},
                                                  {.slots = 3, .hasRoles = false},
                                                  {.slots = 2, .hasRoles = false},
                                                  {.slots = 1, .hasRoles = false}});
  const std::string before = context.explanation ? *context.explanation : "";
  Pass::Limits last = {.slots = ForAttrs::kMostSlots + 1};
  for (const Pass::Limits &limits : tries) {
    const bool wouldBeLast = limits.slots >= last.slots && limits.hasRoles >= last.hasRoles;
    if (wouldBeLast) continue;
    Kernel tried = kernel.clone();
    last = Pass(tried, context, limits).run();
    if (last.slots == 1 || !isBeyondProof(tried, context.machine)) {
      kernel = std::move(tried);
      return;
    }
    if (context.explanation) *context.explanation = before;
  }
}

} // namespace imbrex::passes
