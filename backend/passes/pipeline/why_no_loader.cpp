#include "backend/passes/pipeline/why_no_loader.h"

#include "backend/analysis/effects.h"
#include "backend/machine/role_registers.h"
#include "backend/passes/pipeline/read_condition.h"
#include "backend/passes/rewriting.h"
#include "llvm/ADT/STLExtras.h"

#include <array>
#include <map>
#include <optional>
#include <set>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;

/// What a role that only loads would have to compute.
class LoaderNeeds {
public:
  explicit LoaderNeeds(const Kernel &kernel) : kernel_(kernel) { collect(kernel.body(), nullptr); }

  std::optional<std::string> whyNot(const Op &loop, const LoopLoads &loads) {
    bool isUnderCondition = false;
    for (const Op *op = &loop; op != nullptr; op = parents_.at(op)) {
      isUnderCondition |= op->kind == OpKind::If;
      // Where it does not hold nothing holds the role back, which may be any number of trips ahead.
      if (isLoop(*op) && isUnderCondition)
        return "the loop is under a condition in another, whose trips the roles would not count "
               "together";
      if (op->kind != OpKind::For && op->kind != OpKind::If) return "the loop is in a 'while'";
      if (isLoop(*op) && mayBeLeft(*op)) return "a loop around it may be left early";
      const std::size_t deciding = op->kind == OpKind::For ? firstCarriedOperand(*op) : 1;
      for (std::size_t i = 0; i < deciding; ++i)
        if (auto why = need(op->operand(i), kDecides)) return why;
    }
    for (const AheadLoad &load : loads.loads)
      for (const ValueId operand : load.op->operands)
        if (auto why = need(operand, kAddress)) return why;
    return std::nullopt;
  }

private:
  /// What decides how often a role loads must be the same for the other, which is seen where it is
  /// made of the same (read_schedule.h), and not of what a loop has made of it.
  enum Purpose : std::uint8_t { kDecides, kAddress };

  void collect(const Block &block, const Op *parent) {
    for (const auto &op : block.ops) {
      parents_[op.get()] = parent;
      for (const Block &region : op->regions) {
        for (const ValueId argument : region.arguments) owners_[argument] = op.get();
        collect(region, op.get());
      }
    }
  }

  std::optional<std::string> need(ValueId value, Purpose purpose) {
    if (!seen_[purpose].insert(value).second) return std::nullopt;
    if (const auto owner = owners_.find(value); owner != owners_.end())
      return needArgument(*owner->second, value, purpose);
    const Op *op = kernel_.definition(value);
    if (op == nullptr) return std::nullopt; // a parameter
    if (!analysis::isPure(*op) || !op->regions.empty() || !kernel_.type(value).isScalar())
      return "where it loads depends on '" + std::string(info(op->kind).mnemonic) + "' at " +
             toText(op->where);
    for (const ValueId operand : op->operands)
      if (auto why = need(operand, purpose)) return why;
    return std::nullopt;
  }

  std::optional<std::string> needArgument(const Op &loop, ValueId value, Purpose purpose) {
    const auto &arguments = loop.regions[0].arguments;
    const auto number = static_cast<std::size_t>(llvm::find(arguments, value) - arguments.begin());
    if (number < firstCarriedArgument(loop)) return std::nullopt; // it counts by itself
    if (purpose == kDecides)
      return "how often it loads depends on what the loop at " + toText(loop.where) + " carries";
    const std::size_t carried = number - firstCarriedArgument(loop);
    if (auto why = need(loop.operand(firstCarriedOperand(loop) + carried), purpose)) return why;
    return need(loop.regions[0].ops.back()->operand(carried), purpose);
  }

  const Kernel &kernel_;
  std::map<const Op *, const Op *> parents_;
  std::map<ValueId, const Op *> owners_;  // of the arguments of bodies
  std::array<std::set<ValueId>, 2> seen_; // by purpose
};

} // namespace

std::string whyNoLoader(const Kernel &kernel, const std::vector<const Op *> &loops,
                        const std::vector<LoopLoads> &loads, const machine::Machine &machine) {
  const std::int32_t warps = kernel.threads().warps + machine::RegisterRules().groupWarps;
  if (warps * machine.warpSize > machine.maxThreads) return "the block has no room for its threads";
  std::string why;
  walk(kernel.body(), [&](const Op &op) {
    if (op.kind == OpKind::ExitIf || op.kind == OpKind::Assert) why = "the kernel may end early";
    if (op.kind == OpKind::InlineAsm) why = "instructions of the author's may wait for all threads";
  });
  LoaderNeeds needs(kernel);
  for (std::size_t i = 0; i < loops.size() && why.empty(); ++i)
    if (const auto whyNot = needs.whyNot(*loops[i], loads[i])) why = *whyNot;
  return why;
}

} // namespace imbrex::passes::pipeline
