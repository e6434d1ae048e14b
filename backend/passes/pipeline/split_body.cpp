#include "backend/passes/pipeline/split_body.h"

#include "backend/analysis/effects.h"
#include "backend/ir/builder.h"
#include "backend/ir/ring_bytes.h"
#include "backend/machine/occupancy.h"
#include "backend/machine/role_registers.h"
#include "backend/passes/dce.h"
#include "backend/passes/layouts/cost.h"
#include "backend/passes/pipeline/copy_ops.h"
#include "backend/passes/pipeline/plan_loop.h"
#include "backend/passes/rewriting.h"
#include "llvm/ADT/STLExtras.h"

#include <array>
#include <map>
#include <optional>
#include <set>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;

constexpr machine::RegisterRules kRules;

// --- may it be? ---

/// What a role that only loads would have to compute.
class LoaderNeeds {
public:
  explicit LoaderNeeds(const Kernel &kernel) : kernel_(kernel) { collect(kernel.body(), nullptr); }

  std::optional<std::string> whyNot(const Op &loop, const LoopLoads &loads) {
    for (const Op *op = &loop; op != nullptr; op = parents_.at(op)) {
      if (op->kind != OpKind::For && op->kind != OpKind::If) return "the loop is in a 'while'";
      if (mayBeLeft_.contains(op)) return "a loop around it may be left early";
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
      if (op->kind == OpKind::BreakIf) mayBeLeft_.insert(loopAround(op.get()));
      for (const Block &region : op->regions) {
        for (const ValueId argument : region.arguments) owners_[argument] = op.get();
        collect(region, op.get());
      }
    }
  }

  const Op *loopAround(const Op *op) const {
    do op = parents_.at(op);
    while (!isLoop(*op));
    return op;
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
  std::set<const Op *> mayBeLeft_;        // by a break_if
  std::array<std::set<ValueId>, 2> seen_; // by purpose
};

// --- registers ---

std::int64_t wordsOf(const Kernel &kernel, llvm::ArrayRef<ValueId> values) {
  std::int64_t words = 0;
  for (const ValueId value : values)
    if (kernel.type(value).isTileOrPointers() && kernel.layoutOf(value).valid())
      words += layouts::wordsOf(kernel.type(value), kernel.layout(kernel.layoutOf(value)));
  return words;
}

/// The registers that a thread of the role that computes will want, roughly: what the fullest loop
/// carries, the operands and results of its largest op, and some for addresses and counts.
std::int64_t wantedRegisters(const Kernel &kernel) {
  constexpr std::int64_t kOthers = 40;
  std::int64_t carried = 0, largest = 0;
  walk(kernel.body(), [&](const Op &op) {
    if (isLoop(op)) return void(carried = std::max(carried, wordsOf(kernel, op.results)));
    largest = std::max(largest, wordsOf(kernel, op.operands) + wordsOf(kernel, op.results));
  });
  return carried + largest + kOthers;
}

std::int64_t sharedBytes(const Kernel &kernel, const machine::Machine &machine) {
  const RingRoom room = ringRoom(kernel, machine);
  return room.limit - room.bytes; // rings and exchanges
}

std::int32_t blocksOnCore(const Kernel &kernel, const machine::Machine &machine,
                          std::int32_t threads) {
  return machine::occupancyOf(machine, {.threads = threads,
                                        .registersPerThread = machine.registerGranule,
                                        .sharedMemoryBytes = static_cast<std::int32_t>(
                                            sharedBytes(kernel, machine))})
      .blocksPerCore;
}

/// The most blocks on a core, of so many, that `suffices` holds of; 0: of none.
std::int32_t mostBlocks(std::int32_t most, llvm::function_ref<bool(std::int32_t)> suffices) {
  while (most > 0 && !suffices(most)) --most;
  return most;
}

/// One warp loads, where its block's threads have registers enough as they are for as many blocks
/// on a core as there could be otherwise. Else a whole group of warps does, and leaves its
/// registers to those that compute.
RolesAttrs rolesFor(const Kernel &kernel, const machine::Machine &machine) {
  const layout::Threads own = kernel.threads();
  const std::int64_t wanted = wantedRegisters(kernel);
  const std::int32_t few = own.count() + own.lanes;
  const std::int32_t many = own.count() + kRules.groupWarps * own.lanes;
  const auto splitFor = [&](std::int32_t blocks) {
    const auto splits = machine::splitsFor(
        {.consumerGroups = own.warps / kRules.groupWarps, .minBlocks = blocks}, machine);
    return splits.empty() ? machine::RegisterSplit{} : splits.front();
  };
  const RolesAttrs plain{.warps = 1};
  // Roles that hand registers over settle what each thread has, which is then not the author's.
  if (own.warps % kRules.groupWarps != 0 || kernel.attributes().registers > 0) return plain;
  const std::int32_t asTheyAre =
      mostBlocks(blocksOnCore(kernel, machine, few), [&](std::int32_t blocks) {
        return machine::launchRegisters({few, blocks}, machine) >= wanted;
      });
  const std::int32_t handedOver =
      mostBlocks(blocksOnCore(kernel, machine, many),
                 [&](std::int32_t blocks) { return splitFor(blocks).consumer >= wanted; });
  const std::int32_t blocks = std::max(handedOver, 1);
  const machine::RegisterSplit split = splitFor(blocks);
  const bool isMore = split.consumer > machine::launchRegisters({few, blocks}, machine);
  if (asTheyAre >= blocks || !isMore) return plain;
  return {.warps = kRules.groupWarps,
          .releases = split.producer,
          .takes = split.consumer,
          .blocks = blocks};
}

// --- the ops ---

bool isOfLoader(const Op &op) {
  return op.kind == OpKind::RingLoadBox || op.kind == OpKind::BarrierExpect ||
         (op.kind == OpKind::BarrierWait && op.attrs<WaitAttrs>().flipped);
}

bool isForAll(const Op &op) { return op.kind == OpKind::RingNew || op.kind == OpKind::BarrierNew; }

class Splitter {
public:
  Splitter(Kernel &kernel, const machine::Machine &machine) : kernel_(kernel), machine_(machine) {}

  RolesAttrs run() {
    const RolesAttrs attrs = rolesFor(kernel_, machine_);
    Block &body = kernel_.body();
    Block rest, made;
    for (auto &op : body.ops) (isForAll(*op) ? made : rest).ops.push_back(std::move(op));
    body.ops = std::move(made.ops);
    Builder builder(kernel_, body);
    builder.setLocation(kernel_.where());
    Op &roles = builder.create(OpKind::Roles, {}, {}, attrs);
    roles.regions.resize(2);
    Renamed names;
    Builder loader(kernel_, roles.regions[0]);
    copyOps(loader, rest, names);
    dropLoads(rest);
    roles.regions[1] = std::move(rest);
    for (Block &role : roles.regions) {
      Builder end(kernel_, role);
      end.setLocation(kernel_.where());
      end.create(OpKind::Yield, {}, {});
    }
    std::set<const Op *> loaders;
    walk(roles.regions[0], [&](Op &op) { loaders.insert(&op); });
    dropUnneeded(kernel_, [&](const Op &op) {
      return loaders.contains(&op) ? isOfLoader(op) : hasEffect(op);
    });
    return attrs;
  }

private:
  static void dropLoads(Block &block) {
    llvm::erase_if(block.ops, [](const auto &op) { return isOfLoader(*op); });
    for (const auto &op : block.ops)
      for (Block &region : op->regions) dropLoads(region);
  }

  Kernel &kernel_;
  const machine::Machine &machine_;
};

} // namespace

std::string whyNoLoader(const Kernel &kernel, const std::vector<const Op *> &loops,
                        const std::vector<LoopLoads> &loads, const machine::Machine &machine) {
  const std::int32_t warps = kernel.threads().warps + kRules.groupWarps;
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

RolesAttrs splitBody(Kernel &kernel, const machine::Machine &machine) {
  return Splitter(kernel, machine).run();
}

} // namespace imbrex::passes::pipeline
