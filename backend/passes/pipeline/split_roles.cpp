#include "backend/passes/pipeline/split_roles.h"

#include "backend/ir/builder.h"
#include "backend/ir/ring_bytes.h"
#include "backend/machine/occupancy.h"
#include "backend/machine/role_registers.h"
#include "backend/passes/dce.h"
#include "backend/passes/layouts/cost.h"
#include "backend/passes/pipeline/copy_ops.h"
#include "backend/passes/pipeline/plan_loop.h"
#include "backend/passes/rewriting.h"
#include "backend/support/text.h"
#include "llvm/ADT/STLExtras.h"

#include <set>
#include <utility>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;

constexpr machine::RegisterRules kRules;

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

class WarpSpecialiser {
public:
  WarpSpecialiser(Kernel &kernel, const machine::Machine &machine)
      : kernel_(kernel), machine_(machine) {}

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

std::string inWords(const RolesAttrs &roles, std::int32_t warps) {
  return "roles: " + std::to_string(roles.warps) +
         (roles.warps == 1 ? " warp loads, " : " warps load, ") + std::to_string(warps) +
         (warps == 1 ? " computes; " : " compute; ") +
         (roles.takes == 0
              ? "all keep the registers of the launch"
              : "a thread that loads keeps " + std::to_string(roles.releases) +
                    " registers, one that computes gets " + std::to_string(roles.takes) + ", for " +
                    counted(roles.blocks, "block") + " on a core");
}

} // namespace

void splitRoles(Kernel &kernel, const PassContext &context) {
  bool hasLoader = false;
  walk(kernel.body(), [&](Op &op) {
    if (op.kind == OpKind::For) hasLoader |= std::exchange(op.attrs<ForAttrs>().loader, false);
  });
  if (!hasLoader) return;
  const RolesAttrs roles = WarpSpecialiser(kernel, context.machine).run();
  if (context.explanation) *context.explanation += inWords(roles, kernel.threads().warps) + "\n";
}

} // namespace imbrex::passes::pipeline
