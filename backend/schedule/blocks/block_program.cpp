#include "backend/schedule/blocks/block_program.h"

#include <algorithm>

namespace imbrex::schedule {

namespace {

/// Where the package's minimum over the halves starts.
constexpr std::int64_t kNoWait = 255;

std::string_view nameOf(OpTag tag) {
  switch (tag) {
  case OpTag::LoadA: return "LA";
  case OpTag::LoadB: return "LB";
  case OpTag::FragmentA: return "FA";
  case OpTag::FragmentB: return "FB";
  case OpTag::Mma: return "MMA";
  }
  IMBREX_UNREACHABLE("an op of a block has no tag");
}

std::string_view nameOf(KOffset offset) {
  switch (offset) {
  case KOffset::K0: return "@K0";
  case KOffset::K1: return "@K1";
  case KOffset::Next: return "@KN";
  case KOffset::Previous: return "@KP";
  case KOffset::None: return "";
  }
  IMBREX_UNREACHABLE("an op of a block has no offset along k");
}

Result<void> checkSizes(const PipelineConfig &config) {
  const struct {
    std::string_view name;
    std::int32_t value, least;
  } sizes[] = {
      {"halves", config.numPartitions, 1},
      {"rows of tiles", config.mMmas, 0},
      {"columns of tiles", config.nMmas, 0},
      {"vm entries of a load of A", config.vmPerLoadA, 0},
      {"vm entries of a load of B", config.vmPerLoadB, 0},
      {"lgkm entries of a load of A", config.lgkmPerLoadA, 0},
      {"lgkm entries of a load of B", config.lgkmPerLoadB, 0},
  };
  for (const auto &size : sizes)
    if (size.value < size.least)
      return fail(Diag::BlockProgramSize, {}, size.name, size.value, size.least);
  return {};
}

template <class Count>
std::int64_t sumOverLoads(const MmaBlock &block, const Count &count) {
  std::int64_t sum = 0;
  for (const auto *load : {&block.globalLoad, &block.globalLoad1})
    if (*load) sum += count(**load);
  return sum;
}

} // namespace

std::string toText(const OpDesc &op) {
  return std::string(nameOf(op.tag)) + "[" + toText(op.stage) + "," + toText(op.subtile) + "]" +
         std::string(nameOf(op.kOffset));
}

Result<std::vector<std::span<const MmaBlock>>> halvesOf(const PipelineProgram &program,
                                                        const PipelineConfig &config) {
  if (const auto sizes = checkSizes(config); !sizes) return sizes.failure();
  const auto blocks = std::ssize(program.blocks);
  const std::int64_t ofHalf = blocks / config.numPartitions;
  if (blocks % config.numPartitions != 0)
    return fail(Diag::BlocksDoNotDivide, {}, blocks, config.numPartitions);
  const std::int64_t said = std::int64_t{config.mMmas} * config.nMmas;
  if (said != 0 && blocks != 0 && said != ofHalf)
    return fail(Diag::BlocksOfHalf, {}, config.numPartitions, ofHalf, config.mMmas, config.nMmas,
                said);
  std::vector<std::span<const MmaBlock>> halves;
  for (std::int64_t first = 0; first < blocks; first += ofHalf)
    halves.push_back(
        std::span(program.blocks)
            .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(ofHalf)));
  return halves;
}

Result<BlockWaits> deriveWaitsFromBlocks(const PipelineProgram &program,
                                         const PipelineConfig &config, std::int64_t lgkmPerA,
                                         std::int64_t lgkmPerB) {
  const auto halves = halvesOf(program, config);
  if (!halves) return halves.failure();
  if (halves->empty()) return BlockWaits{};
  const auto isA = [](const OpDesc &load) { return load.channel == BlockChannel::A; };
  const std::int64_t lgkmOfA = config.lgkmPerLoadA != 0 ? config.lgkmPerLoadA : lgkmPerA;
  const std::int64_t lgkmOfB = config.lgkmPerLoadB != 0 ? config.lgkmPerLoadB : lgkmPerB;
  const auto lgkm = [&](const OpDesc &load) { return isA(load) ? lgkmOfA : lgkmOfB; };

  BlockWaits waits{.waitLgkmFirst = 0, .waitVmLast = kNoWait};
  for (std::size_t half = 0; half < halves->size(); ++half) {
    const auto blocks = (*halves)[half];
    waits.waitLgkmFirst = std::max(waits.waitLgkmFirst, sumOverLoads(blocks.front(), lgkm));
    std::int64_t total = 0, completion = 0;
    for (const MmaBlock &block : blocks) {
      const auto vm = [&](const OpDesc &load) -> std::int64_t {
        return isA(load) ? config.vmPerLoadA : config.vmPerLoadB;
      };
      total += sumOverLoads(block, vm);
      completion += sumOverLoads(block, [&](const OpDesc &load) {
        return load.stage != static_cast<std::int64_t>(half) ? vm(load) : 0;
      });
    }
    waits.waitVmLast = std::min(waits.waitVmLast, total - completion);
  }
  return waits;
}

Result<void> applyWaits(PipelineProgram &program, const PipelineConfig &config,
                        std::span<const BlockWaits> waits, const CounterLimits &limits) {
  const auto halves = halvesOf(program, config);
  if (!halves) return halves.failure();
  if (halves->empty()) return {};
  IMBREX_CHECK(waits.size() == 1 || waits.size() == halves->size(),
               "{0} waits for {1} halves of a block program", waits.size(), halves->size());
  std::size_t next = 0;
  for (std::size_t half = 0; half < halves->size(); ++half) {
    const auto blocks = std::span(program.blocks).subspan(next, (*halves)[half].size());
    next += blocks.size();
    const BlockWaits &own = waits[waits.size() == 1 ? 0 : half];

    MmaBlock &first = blocks.front(), &last = blocks.back();
    const std::int64_t lgkm =
        first.barrierBeforePreOps ? 0 : std::clamp<std::int64_t>(own.waitLgkmFirst, 0, limits.lgkm);
    const bool atEntry = config.minimalBarriers && first.entryWait.vm;
    if (atEntry) first.entryWait.lgkm = lgkm;
    first.preSync = {.lgkm = atEntry ? std::nullopt : std::optional(lgkm)};
    if (&first != &last) last.preSync = {};
    last.preSync.vm = std::clamp<std::int64_t>(own.waitVmLast, 0, limits.vm);
  }
  return {};
}

} // namespace imbrex::schedule
