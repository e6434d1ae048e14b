#include "backend/schedule/blocks/pipelined_loop.h"

#include "backend/support/text.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <utility>

namespace imbrex::schedule {

namespace {

bool isGlobal(const OpDesc &op) { return op.tag == OpTag::LoadA || op.tag == OpTag::LoadB; }
bool isOfA(const OpDesc &op) { return op.tag == OpTag::LoadA || op.tag == OpTag::FragmentA; }

/// Whether a load fetches what a later trip reads: the loop's first tiles are such.
bool fetchesAhead(const OpDesc &load) {
  return load.kOffset != KOffset::Previous && load.kOffset != KOffset::None;
}

bool fetchesAhead(const MmaBlock &block) {
  return (block.globalLoad && fetchesAhead(*block.globalLoad)) ||
         (block.globalLoad1 && fetchesAhead(*block.globalLoad1));
}

Result<void> checkStages(const PipelineProgram &program, std::int32_t halves) {
  for (const MmaBlock &block : program.blocks)
    for (const auto *op : {&block.preOp0, &block.preOp1, &block.globalLoad, &block.globalLoad1})
      if (*op && ((*op)->stage < 0 || (*op)->stage >= halves))
        return fail(Diag::BlockProgramSize, {}, "halves", halves, (*op)->stage + 1);
  return {};
}

/// The blocks of a half behind the last trip.
std::vector<MmaBlock> lastBlocks(std::span<const MmaBlock> half) {
  const auto firstAhead =
      std::ranges::find_if(half, [](const MmaBlock &block) { return fetchesAhead(block); });
  const bool isLate = firstAhead != half.end();
  std::vector<MmaBlock> blocks;
  for (const MmaBlock &block : half) {
    MmaBlock last = block;
    for (auto *load : {&last.globalLoad, &last.globalLoad1})
      if (*load && fetchesAhead(**load)) load->reset();
    last.drainLgkmBeforeLoads = false;
    last.entryWait = {.lgkm = 0};
    last.preSync = {};
    if (!isLate || &block >= &*firstAhead) last.preSync.vm = 0;
    const bool loads = last.preOp0 || last.globalLoad || last.globalLoad1;
    if (loads || blocks.empty())
      blocks.push_back(last);
    else
      blocks.back().preSync = last.preSync;
  }
  return blocks;
}

class RunWriter {
public:
  RunWriter(std::vector<std::span<const MmaBlock>> halves, const PipelineConfig &config)
      : halves_(std::move(halves)), config_(config) {}

  PipelinedLoop operator()(const BlockWarps &warps, std::span<const OpDesc> bootstrap) {
    PipelinedLoop loop{.prologue = prologue(warps, bootstrap), .trip = {}, .epilogue = {}};
    for (std::int32_t half = 0; half < count(); ++half)
      for (const MmaBlock &block : halves_[static_cast<std::size_t>(half)])
        add(block, half, loop.trip);
    loop.epilogue = epilogue();
    if (warps.groups > 1) loop.epilogue.push_back({.kind = BlockStep::Kind::Meet, .group = 0});
    return loop;
  }

private:
  using Steps = std::vector<BlockStep>;

  std::int32_t count() const { return static_cast<std::int32_t>(halves_.size()); }

  static void waitVm(std::int64_t left, Steps &steps) {
    steps.push_back({.kind = BlockStep::Kind::WaitVm, .left = left});
  }
  static void meet(Steps &steps) { steps.push_back({.kind = BlockStep::Kind::Meet}); }
  static void wait(const CounterWait &wait, Steps &steps) {
    if (wait.vm) waitVm(*wait.vm, steps);
    if (wait.lgkm) steps.push_back({.kind = BlockStep::Kind::WaitLgkm, .left = *wait.lgkm});
  }

  void add(const MmaBlock &block, std::int32_t half, Steps &steps) const {
    wait(block.entryWait, steps);
    if (block.entryWait.vm) meet(steps);
    if (!block.barrierBeforePreOps) addLoads(block, half, steps);
    wait(block.preSync, steps);
    if (block.preMmaBarrier) meet(steps);
    if (block.preMmaBarrier && block.postBarrierLgkm) wait({.lgkm = 0}, steps);
    if (block.barrierBeforePreOps) addLoads(block, half, steps);
    if (block.postMmaBarrier) meet(steps);
  }

  void addLoads(const MmaBlock &block, std::int32_t half, Steps &steps) const {
    const auto add = [&](const std::optional<OpDesc> &op) {
      if (!op) return;
      const bool isPassed = isGlobal(*op) ? op->stage <= half : op->stage < half;
      steps.push_back(
          {.kind = BlockStep::Kind::Load, .op = *op, .tile = op->stage + (isPassed ? count() : 0)});
    };
    const auto addFragments = [&] {
      add(block.preOp0);
      add(block.preOp1);
    };
    const auto addGlobals = [&] {
      add(block.globalLoad);
      add(block.globalLoad1);
    };
    if (block.globalBeforeFrag) addGlobals();
    if (!block.globalBeforeFrag) addFragments();
    if (block.drainLgkmBeforeLoads) wait({.lgkm = 0}, steps);
    if (!block.globalBeforeFrag) addGlobals();
    if (block.globalBeforeFrag) addFragments();
  }

  Steps prologue(const BlockWarps &warps, std::span<const OpDesc> bootstrap) const {
    Steps steps;
    for (std::int32_t stage = 0; stage < count(); ++stage) {
      if (stage > 0 && bootstrap.empty()) meet(steps);
      addFirstLoads(stage, steps);
      if (stage == 0 && warps.groups > 1)
        steps.push_back({.kind = BlockStep::Kind::Meet, .group = 1});
      if (bootstrap.empty()) waitVm(0, steps);
    }
    std::vector<std::int64_t> entries;
    for (const BlockStep &step : steps)
      if (step.kind == BlockStep::Kind::Load)
        entries.push_back(isOfA(step.op) ? config_.vmPerLoadA : config_.vmPerLoadB);
    std::int64_t left = llvm::sum_of(entries);
    for (std::size_t i = 0; i < bootstrap.size(); ++i) {
      if (i < entries.size()) left -= entries[i];
      waitVm(left, steps);
      meet(steps);
      steps.push_back(
          {.kind = BlockStep::Kind::Load, .op = bootstrap[i], .tile = bootstrap[i].stage});
    }
    if (warps.groups > 1) meet(steps);
    return steps;
  }

  void addFirstLoads(std::int32_t stage, Steps &steps) const {
    for (const auto half : halves_)
      for (const MmaBlock &block : half)
        for (const auto *load : {&block.globalLoad, &block.globalLoad1})
          if (*load && (*load)->stage == stage && fetchesAhead(**load))
            steps.push_back({.kind = BlockStep::Kind::Load, .op = **load, .tile = stage});
  }

  Steps epilogue() const {
    Steps steps;
    for (std::int32_t half = 0; half < count(); ++half) {
      std::vector<MmaBlock> blocks = lastBlocks(halves_[static_cast<std::size_t>(half)]);
      if (half + 1 == count()) blocks.back().preSync = {};
      for (const MmaBlock &block : blocks) add(block, half, steps);
    }
    for (BlockStep &step : steps)
      if (step.kind == BlockStep::Kind::Load && !isGlobal(step.op)) step.tile = step.op.stage;
    meet(steps);
    return steps;
  }

  std::vector<std::span<const MmaBlock>> halves_;
  const PipelineConfig &config_;
};

/// What a warp's 64 lanes bring with one entry of vm, 16 bytes each: CDNA 4's widest load into
/// shared memory.
constexpr std::int64_t kEntryBytes = std::int64_t{16} * 64;

class ScheduleWriter {
public:
  ScheduleWriter(const PipelinedLoop &loop, const PipelineConfig &config, const BlockWarps &warps)
      : loop_(loop), config_(config), warps_(warps) {}

  Program operator()() {
    program_.name = "blocks";
    program_.trips.push_back({.name = "k"});
    program_.rings.push_back({.name = "stages", .depth = config_.numPartitions});
    program_.meetings.push_back({.name = "all", .parties = warps_.groups * warps_.warps});
    for (const auto *steps : {&loop_.prologue, &loop_.trip, &loop_.epilogue})
      for (const BlockStep &step : *steps)
        if (step.kind == BlockStep::Kind::Load && isGlobal(step.op)) addBuffers(step.op);
    for (std::int32_t group = 0; group < warps_.groups; ++group) addRole(group);
    return std::move(program_);
  }

private:
  using LoopBuffer = std::pair<bool, std::int32_t>; // of A, and which subtile

  static LoopBuffer pieceOf(const OpDesc &op) { return {isOfA(op), op.subtile}; }
  std::int32_t entriesOf(const OpDesc &op) const {
    if (isGlobal(op)) return std::max(1, isOfA(op) ? config_.vmPerLoadA : config_.vmPerLoadB);
    return std::max(1, isOfA(op) ? config_.lgkmPerLoadA : config_.lgkmPerLoadB);
  }

  /// One for each group's part.
  void addBuffers(const OpDesc &load) {
    std::vector<BufferId> &parts = buffers_[pieceOf(load)];
    if (!parts.empty()) return;
    for (std::int32_t group = 0; group < warps_.groups; ++group) {
      parts.emplace_back(static_cast<std::uint32_t>(program_.buffers.size()));
      program_.buffers.push_back({.name = (isOfA(load) ? "A" : "B") + toText(load.subtile) +
                                          (warps_.groups > 1 ? "." + toText(group) : ""),
                                  .ring = RingId(0),
                                  .bytes = kEntryBytes * entriesOf(load) * warps_.warps,
                                  .parts = warps_.warps});
    }
  }

  void addRole(std::int32_t group) {
    group_ = group;
    const RoleId role(static_cast<std::uint32_t>(program_.roles.size()));
    const std::string number = warps_.groups > 1 ? toText(group) : "";
    cursor_ = CursorId(static_cast<std::uint32_t>(program_.cursors.size()));
    program_.cursors.push_back({.name = "tile" + number, .role = role, .ring = RingId(0)});
    vm_ = QueueId(static_cast<std::uint32_t>(program_.queues.size()));
    lgkm_ = QueueId(vm_.index() + 1);
    constexpr CounterLimits kLimits;
    program_.queues.push_back(
        {.name = "vm" + number, .role = role, .capacity = static_cast<std::int32_t>(kLimits.vm)});
    program_.queues.push_back({.name = "lgkm" + number,
                               .role = role,
                               .capacity = static_cast<std::int32_t>(kLimits.lgkm)});
    std::vector<ScheduleOp> body = opsOf(loop_.prologue);
    if (!loop_.trip.empty()) {
      ScheduleOp loop{.kind = ScheduleOpKind::For, .trips = TripsId(0), .body = opsOf(loop_.trip)};
      loop.body.insert(loop.body.end(), static_cast<std::size_t>(config_.numPartitions),
                       {.kind = ScheduleOpKind::Advance, .cursor = cursor_});
      body.push_back(std::move(loop));
    }
    std::ranges::move(opsOf(loop_.epilogue), std::back_inserter(body));
    program_.roles.push_back(
        {.name = "group" + number, .warps = warps_.warps, .body = std::move(body)});
  }

  std::vector<ScheduleOp> opsOf(std::span<const BlockStep> steps) const {
    std::vector<ScheduleOp> ops;
    for (const BlockStep &step : steps) {
      if (step.group && step.group != group_) continue;
      ops.push_back(opOf(step));
    }
    return ops;
  }

  ScheduleOp opOf(const BlockStep &step) const {
    const auto drain = [&](QueueId queue) {
      const auto left = std::min<std::int64_t>(step.left, program_[queue].capacity);
      return ScheduleOp{
          .kind = ScheduleOpKind::Drain, .count = static_cast<std::int32_t>(left), .queue = queue};
    };
    switch (step.kind) {
    case BlockStep::Kind::Load: return loadOf(step);
    case BlockStep::Kind::WaitVm: return drain(vm_);
    case BlockStep::Kind::WaitLgkm: return drain(lgkm_);
    case BlockStep::Kind::Meet: return {.kind = ScheduleOpKind::Meet, .meeting = MeetingId(0)};
    }
    IMBREX_UNREACHABLE("a step of a block is of no kind");
  }

  ScheduleOp loadOf(const BlockStep &step) const {
    IMBREX_CHECK(step.tile % config_.numPartitions == step.op.stage,
                 "{0} is of tile {1}, which lies elsewhere", toText(step.op), step.tile);
    ScheduleOp op{.kind = ScheduleOpKind::Issue,
                  .count = entriesOf(step.op),
                  .queue = isGlobal(step.op) ? vm_ : lgkm_};
    for (const auto &[piece, parts] : buffers_) {
      if (!touches(step.op, piece)) continue;
      for (std::int32_t group = 0; group < warps_.groups; ++group) {
        if (isGlobal(step.op) && group != group_) continue;
        op.accesses.push_back({.buffer = parts[static_cast<std::size_t>(group)],
                               .index = {.cursor = cursor_, .offset = step.tile},
                               .writes = isGlobal(step.op),
                               .part = isGlobal(step.op) ? Part::Own : Part::All});
      }
    }
    return op;
  }

  bool touches(const OpDesc &op, const LoopBuffer &piece) const {
    if (isGlobal(op) || warps_.groups == 1) return pieceOf(op) == piece;
    return isOfA(op) ? piece == LoopBuffer(true, group_) : !piece.first;
  }

  const PipelinedLoop &loop_;
  const PipelineConfig &config_;
  const BlockWarps &warps_;
  Program program_;
  std::map<LoopBuffer, std::vector<BufferId>> buffers_;
  std::int32_t group_ = 0;
  CursorId cursor_; // of the group, as the queues
  QueueId vm_, lgkm_;
};

} // namespace

Result<PipelinedLoop> loopOf(const PipelineProgram &program, const PipelineConfig &config,
                             const BlockWarps &warps, std::span<const OpDesc> bootstrap) {
  auto halves = halvesOf(program, config);
  if (!halves) return halves.failure();
  if (const auto stages = checkStages(program, config.numPartitions); !stages)
    return stages.failure();
  return RunWriter(std::move(*halves), config)(warps, bootstrap);
}

Program programOf(const PipelinedLoop &loop, const PipelineConfig &config,
                  const BlockWarps &warps) {
  return ScheduleWriter(loop, config, warps)();
}

} // namespace imbrex::schedule
