#include "backend/schedule/blocks/pipelined_loop.h"
#include "backend/schedule/check/check.h"
#include "backend/schedule/program/program_text.h"
#include "backend/schedule/program/well_formed.h"
#include "tests/unit/schedule/block_programs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <ostream>

using namespace imbrex;
using namespace imbrex::schedule;

namespace {

using Steps = std::vector<BlockStep>;
using Kind = BlockStep::Kind;

BlockStep vm(std::int64_t left) { return {.kind = Kind::WaitVm, .left = left}; }
BlockStep lgkm(std::int64_t left) { return {.kind = Kind::WaitLgkm, .left = left}; }
BlockStep loadOf(const OpDesc &op, std::int32_t tile) {
  return {.kind = Kind::Load, .op = op, .tile = tile};
}
const BlockStep kMeet{.kind = Kind::Meet};

std::string textOf(const BlockStep &step) {
  switch (step.kind) {
  case Kind::Load: return schedule::toText(step.op);
  case Kind::WaitVm: return "vm" + std::to_string(step.left);
  case Kind::WaitLgkm: return "lgkm" + std::to_string(step.left);
  case Kind::Meet: return step.group ? "meet by " + std::to_string(*step.group) : "meet";
  }
  return {};
}

std::string textOf(const Steps &steps) {
  std::string text;
  for (const BlockStep &step : steps) text += (text.empty() ? "" : " ") + textOf(step);
  return text;
}

/// A loop with all that its verdict depends on.
struct Kernel {
  PipelinedLoop loop;
  PipelineConfig config;
  BlockWarps warps;
};

/// What the checker says of a run of any number of trips.
std::optional<Diag> findingOf(const Kernel &kernel) {
  const Program program = programOf(kernel.loop, kernel.config, kernel.warps);
  Diagnostics diagnostics;
  REQUIRE_MESSAGE(verify(program, diagnostics), diagnostics.render());
  const Verdict verdict = prove(program);
  if (verdict.isSafe()) return std::nullopt;
  return verdict.findings.front().what.kind;
}

/// A program by the package's formula, as it runs.
Kernel kernelOf(PipelineProgram program, const PipelineConfig &config, const BlockWarps &warps,
                std::span<const OpDesc> bootstrap = {}) {
  const BlockWaits waits[] = {deriveWaitsFromBlocks(program, config).value()};
  REQUIRE(applyWaits(program, config, waits).ok());
  return {loopOf(program, config, warps, bootstrap).value(), config, warps};
}

PipelineConfig pingPongOfTable() {
  PipelineConfig config = pingPongConfig(4, 8);
  config.lgkmPerLoadB = 4;
  return config;
}

Kernel pingPongKernel(const PipelineProgram &program) {
  return kernelOf(program, pingPongOfTable(), {.groups = 2, .warps = 4});
}

Kernel fourWaveKernel(std::int32_t entries) {
  const OpDesc bootstrap[] = {fragmentA(0, 0), fragmentB(0, 0)};
  return kernelOf(fourWave(entries), fourWaveConfig(entries, 2 * entries), {.groups = 1},
                  bootstrap);
}

/// All trips one after the other, without a loop.
Kernel straight(const Kernel &kernel, std::int32_t trips) {
  Kernel flat{.loop = {.prologue = kernel.loop.prologue, .trip = {}, .epilogue = {}},
              .config = kernel.config,
              .warps = kernel.warps};
  const auto append = [&](Steps steps, std::int32_t trip) {
    for (BlockStep &step : steps) {
      if (step.kind == Kind::Load) step.tile += trip * kernel.config.numPartitions;
      flat.loop.prologue.push_back(step);
    }
  };
  for (std::int32_t trip = 0; trip < trips; ++trip) append(kernel.loop.trip, trip);
  append(kernel.loop.epilogue, trips);
  return flat;
}

/// Pairs of a fragment load and a global load that nothing orders, by groups of warps and by trip.
struct Pairs {
  std::int32_t read = 0;      // what may not have arrived
  std::int32_t overwrite = 0; // what is loaded over what may still be read

  friend bool operator==(const Pairs &, const Pairs &) = default;
};

std::ostream &operator<<(std::ostream &out, const Pairs &pairs) {
  return out << pairs.read << " and " << pairs.overwrite;
}

/// The checker ends at the first finding. So each pair is held against it alone, in a program that
/// waits and meets as the whole does, but touches nothing else.
class PairCounter {
public:
  PairCounter(const Kernel &kernel, std::int32_t trips)
      : program_(programOf(straight(kernel, trips).loop, kernel.config, kernel.warps)),
        stages_(kernel.config.numPartitions) {
    for (std::size_t role = 0; role < program_.roles.size(); ++role)
      for (std::size_t op = 0; op < program_.roles[role].body.size(); ++op)
        for (const Access &access : program_.roles[role].body[op].accesses)
          touches_.push_back({role, op, access});
  }

  /// What is read in such a pair, and at which of the steps.
  struct Read {
    std::string buffer;
    std::size_t step;
  };
  struct Found {
    std::vector<Read> early, late; // before it has arrived, and when it may be overwritten
  };

  Found operator()() const {
    Found found;
    for (const Touch &read : touches_) {
      if (read.access.writes) continue;
      const Touch *wanted = loadOf(read, 0), *next = loadOf(read, stages_);
      REQUIRE(wanted);
      const Read here = {program_[read.access.buffer].name, read.op};
      if (!isSafe({read, *wanted}))
        found.early.push_back(here);
      else if (next && !isSafe({read, *wanted, *next}))
        found.late.push_back(here);
    }
    return found;
  }

private:
  struct Touch {
    std::size_t role, op;
    Access access;
  };

  /// Of the same slot, so many tiles later.
  const Touch *loadOf(const Touch &read, std::int32_t tiles) const {
    for (const Touch &load : touches_)
      if (load.access.writes && load.access.buffer == read.access.buffer &&
          load.access.index.offset == read.access.index.offset + tiles)
        return &load;
    return nullptr;
  }

  bool isSafe(const std::vector<Touch> &alone) const {
    Program program = program_;
    for (Role &role : program.roles)
      for (ScheduleOp &op : role.body) op.accesses.clear();
    for (const Touch &touch : alone)
      program.roles[touch.role].body[touch.op].accesses.push_back(touch.access);
    return prove(program).isSafe();
  }

  Program program_;
  std::int32_t stages_;
  std::vector<Touch> touches_;
};

Pairs pairsOf(const Kernel &kernel) {
  const PairCounter::Found found = PairCounter(kernel, 3)();
  return {.read = static_cast<std::int32_t>(found.early.size()),
          .overwrite = static_cast<std::int32_t>(found.late.size())};
}

/// The same where the loop's waits for that many entries of vm wait for another number.
Kernel withVm(Kernel kernel, std::int64_t left, std::int64_t other) {
  for (BlockStep &step : kernel.loop.trip)
    if (step == vm(left)) step.left = other;
  return kernel;
}

/// One load in the first block of each half, and three in the last: of A there, and of B there too,
/// or behind the barrier of the block before, where a block has no place for them.
Kernel loadedLate(bool isBBehindBarrier) {
  Kernel kernel = pingPongKernel(oneNoneTwoOne());
  Steps &trip = kernel.loop.trip;
  for (const std::int32_t half : {0, 1}) {
    const PingPongLoads loads = loadsOf(half);
    const Steps ofB = {loadOf(loads.ownB0, half + 2), loadOf(loads.ownB1, half + 2)};
    const BlockStep ofA = loadOf(loads.ownA, half + 2);
    for (const BlockStep &load : {ofB[0], ofB[1], ofA}) std::erase(trip, load);
    // Behind the third block's fragments: a barrier, a drain, and the barrier behind the mma.
    const auto behindDrain = std::ranges::find(trip, loadOf(fragmentA(half, 1), half)) + 3;
    const auto behindMma = trip.insert(behindDrain + 1, ofA);
    trip.insert(isBBehindBarrier ? behindMma - 1 : behindMma, ofB.begin(), ofB.end());
  }
  return kernel;
}

/// Each half loads for the other one, which reads it next.
PipelineProgram forTheOtherStage() {
  return pingPong([](std::vector<MmaBlock> &blocks, const PingPongLoads &loads) {
    const auto [k, other] = std::pair(loads.other.kOffset, loads.other.stage);
    blocks[0].globalLoad = loadA(other, 0, k);
    blocks[1].globalLoad = loadA(other, 1, k);
    blocks[2].globalLoad = loadB(other, 0, k);
    blocks[3].globalLoad = loadB(other, 1, k);
  });
}

/// The four-wave program with what it lacks: fragments drained before the first barrier of a half,
/// and a barrier behind the loads of the last tiles; without the wait that is made twice.
Kernel repairedFourWave(std::int32_t entries) {
  Kernel kernel = fourWaveKernel(entries);
  const std::int64_t perFragment = kernel.config.lgkmPerLoadA;
  Steps &trip = kernel.loop.trip, &epilogue = kernel.loop.epilogue;
  std::ranges::replace(trip, lgkm(perFragment), lgkm(0));
  trip.pop_back();
  trip.erase(std::ranges::adjacent_find(trip));
  std::erase(epilogue, vm(0));
  epilogue.insert(epilogue.begin(), {vm(0), kMeet});
  return kernel;
}

/// The same product as its authors wrote it by hand (modular/modular, the 4-wave matmul before it
/// came from blocks).
Kernel fourWaveByHand(std::int32_t entries) {
  Kernel kernel = fourWaveKernel(entries);
  const BlockStep main = vm(4 * entries);
  kernel.loop.trip.clear();
  for (const std::int32_t half : {0, 1}) {
    const std::int32_t next = half + 1, other = 1 - half;
    for (const BlockStep &step :
         Steps{main, lgkm(0), kMeet, loadOf(loadA(half, 0), half + 2),
               loadOf(fragmentB(half, 1), half), lgkm(0), loadOf(loadB(half, 0), half + 2),
               loadOf(fragmentA(half, 1), half), main, lgkm(0), kMeet,
               loadOf(loadB(half, 1), half + 2), loadOf(fragmentA(other, 0), next),
               loadOf(loadA(half, 1), half + 2), loadOf(fragmentB(other, 0), next)})
      kernel.loop.trip.push_back(step);
  }
  kernel.loop.epilogue = {main,
                          kMeet,
                          lgkm(0),
                          loadOf(fragmentB(0, 1), 0),
                          lgkm(0),
                          loadOf(fragmentA(0, 1), 0),
                          vm(2 * entries),
                          kMeet,
                          lgkm(0),
                          loadOf(fragmentA(1, 0), 1),
                          loadOf(fragmentB(1, 0), 1),
                          vm(0),
                          kMeet,
                          lgkm(0),
                          loadOf(fragmentB(1, 1), 1),
                          lgkm(0),
                          loadOf(fragmentA(1, 1), 1),
                          lgkm(0)};
  return kernel;
}

/// The steps of a kind, and those without which, or with one more entry left by which, the checker
/// still proves the run.
struct Tightness {
  std::int32_t steps = 0;
  std::vector<std::string> idle = {};
};

Tightness tightnessOf(const Kernel &kernel, Kind kind) {
  Tightness tightness;
  for (const auto part : {&PipelinedLoop::prologue, &PipelinedLoop::trip, &PipelinedLoop::epilogue})
    for (std::size_t i = 0; i < (kernel.loop.*part).size(); ++i) {
      const BlockStep &step = (kernel.loop.*part)[i];
      if (step.kind != kind) continue;
      ++tightness.steps;
      Kernel changed = kernel;
      Steps &steps = changed.loop.*part;
      ++steps[i].left;
      if (kind == Kind::Meet) steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(i));
      if (!findingOf(changed)) tightness.idle.push_back(textOf(step));
    }
  return tightness;
}

} // namespace

TEST_CASE("a block program becomes the steps of its prologue, of a trip, and of its epilogue") {
  const PipelinedLoop loop = pingPongKernel(onePerBlock()).loop;
  CHECK(textOf(loop.prologue) == "LB[0,0]@K0 LA[0,0]@K0 LB[0,1]@K0 LA[0,1]@K0 meet by 1 vm0 meet "
                                 "LB[1,0]@K1 LA[1,0]@K1 LB[1,1]@K1 vm0 meet");
  CHECK(textOf(loop.trip) ==
        "FB[0,0] FA[0,0] LA[1,1]@KP lgkm8 meet lgkm0 meet FB[0,1] LB[0,0]@K0 meet lgkm0 meet "
        "FA[0,1] LA[0,0]@K0 meet lgkm0 meet LB[0,1]@K0 vm12 meet meet "
        "FB[1,0] FA[1,0] LA[0,1]@K0 lgkm8 meet lgkm0 meet FB[1,1] LB[1,0]@K1 meet lgkm0 meet "
        "FA[1,1] LA[1,0]@K1 meet lgkm0 meet LB[1,1]@K1 vm12 meet meet");
  CHECK(textOf(loop.epilogue) ==
        "lgkm0 FB[0,0] FA[0,0] LA[1,1]@KP meet lgkm0 meet lgkm0 FB[0,1] vm0 meet lgkm0 meet "
        "lgkm0 FA[0,1] vm0 meet lgkm0 meet lgkm0 FB[1,0] FA[1,0] vm0 meet lgkm0 meet "
        "lgkm0 FB[1,1] vm0 meet lgkm0 meet lgkm0 FA[1,1] meet lgkm0 meet meet meet by 0");
  // Nothing is fetched ahead in its second block, which so waits for nothing.
  const Steps last = pingPongKernel(oneNoneTwoOne()).loop.epilogue;
  CHECK(textOf(last).starts_with("lgkm0 FB[0,0] FA[0,0] LA[1,1]@KP meet lgkm0 meet "
                                 "lgkm0 FB[0,1] meet lgkm0 meet lgkm0 FA[0,1] vm0 meet"));
}

TEST_CASE("a block without loads is one with the block before, and hands it its wait") {
  const PipelineProgram program =
      pingPong([](std::vector<MmaBlock> &blocks, const PingPongLoads &loads) {
        blocks[0].globalLoad = loads.other;
        blocks[0].drainLgkmBeforeLoads = true; // in the loop alone
        blocks[3].globalLoad = loads.ownA;
        blocks[3].globalLoad1 = loads.ownB0;
      });
  const PipelinedLoop loop = pingPongKernel(program).loop;
  CHECK(textOf(loop.trip).starts_with("FB[0,0] FA[0,0] lgkm0 LA[1,1]@KP lgkm8 meet"));
  CHECK(textOf(loop.epilogue)
            .starts_with("lgkm0 FB[0,0] FA[0,0] LA[1,1]@KP meet lgkm0 meet lgkm0 FB[0,1] meet "
                         "lgkm0 meet lgkm0 FA[0,1] vm0 meet lgkm0 meet lgkm0 FB[1,0]"));
}

TEST_CASE("a block program of four waves meets only where it waits for loads") {
  const PipelinedLoop loop = fourWaveKernel(1).loop;
  CHECK(textOf(loop.prologue) ==
        "LA[0,0]@K0 LB[0,0]@K0 LB[0,1]@K0 LA[0,1]@K0 LA[1,0]@K1 LB[1,0]@K1 "
        "LB[1,1]@K1 LA[1,1]@K1 vm7 meet FA[0,0] vm6 meet FB[0,0]");
  CHECK(textOf(loop.trip) == "vm4 lgkm2 meet FB[0,1] LA[0,0]@K0 lgkm0 FA[0,1] LB[0,0]@K0 "
                             "vm4 lgkm0 meet FA[1,0] LB[0,1]@K0 FB[1,0] LA[0,1]@K0 vm4 "
                             "vm4 lgkm2 meet FB[1,1] LA[1,0]@K1 lgkm0 FA[1,1] LB[1,0]@K1 "
                             "vm4 lgkm0 meet FA[0,0] LB[1,1]@K1 FB[0,0] LA[1,1]@K1 vm4");
  CHECK(textOf(loop.epilogue) == "lgkm0 FB[0,1] vm0 lgkm0 FA[0,1] vm0 lgkm0 FA[1,0] vm0 "
                                 "lgkm0 FB[1,0] vm0 lgkm0 FB[1,1] vm0 lgkm0 FA[1,1] vm0 "
                                 "lgkm0 FA[0,0] vm0 lgkm0 FB[0,0] meet");
}

TEST_CASE("the flags of a block say in which order it loads, waits and meets") {
  MmaBlock block{.preOp0 = fragmentB(0, 0), .globalLoad = loadA(0, 0), .preSync = {.vm = 3}};
  const auto stepsOf = [&] {
    const PipelineProgram program{.blocks = {block}};
    return textOf(loopOf(program, {.numPartitions = 1, .vmPerLoadA = 1}, {}).value().trip);
  };
  CHECK(stepsOf() == "FB[0,0] LA[0,0]@K0 vm3 meet lgkm0 meet");
  block.postMmaBarrier = false;
  block.postBarrierLgkm = false;
  CHECK(stepsOf() == "FB[0,0] LA[0,0]@K0 vm3 meet");
  block.drainLgkmBeforeLoads = true;
  CHECK(stepsOf() == "FB[0,0] lgkm0 LA[0,0]@K0 vm3 meet");
  block.globalBeforeFrag = true;
  CHECK(stepsOf() == "LA[0,0]@K0 lgkm0 FB[0,0] vm3 meet");
  block.barrierBeforePreOps = true;
  CHECK(stepsOf() == "vm3 meet LA[0,0]@K0 lgkm0 FB[0,0]");
  block.entryWait = {.vm = 2, .lgkm = 1};
  CHECK(stepsOf() == "vm2 lgkm1 meet vm3 meet LA[0,0]@K0 lgkm0 FB[0,0]");
  block.entryWait.vm.reset();
  block.preMmaBarrier = false;
  CHECK(stepsOf() == "lgkm1 vm3 LA[0,0]@K0 lgkm0 FB[0,0]");
}

TEST_CASE("the schedule of a block program has a role for each group, and a buffer for its part") {
  const PipelineProgram program{.blocks = {{.preOp0 = fragmentA(0, 0),
                                            .preOp1 = fragmentB(0, 0),
                                            .globalLoad = loadA(0, 0),
                                            .globalLoad1 = loadB(0, 0),
                                            .preSync = {.vm = 99, .lgkm = 16},
                                            .postMmaBarrier = false,
                                            .postBarrierLgkm = false}}};
  const PipelineConfig config{
      .numPartitions = 1, .vmPerLoadA = 1, .vmPerLoadB = 2, .lgkmPerLoadA = 3, .lgkmPerLoadB = 4};
  const OpDesc bootstrap[] = {fragmentA(0, 0), fragmentB(0, 0)};
  const BlockWarps warps{.groups = 2, .warps = 2};
  const PipelinedLoop loop = loopOf(program, config, warps, bootstrap).value();
  CHECK(textOf(loop.prologue) ==
        "LA[0,0]@K0 LB[0,0]@K0 meet by 1 vm2 meet FA[0,0] vm0 meet FB[0,0] meet");
  const std::string text = print(programOf(loop, config, warps));
  CHECK(text.starts_with(R"(schedule @blocks {
  trips %k
  ring %stages {
    buffer %A0.0 2048 parts 2
    buffer %A0.1 2048 parts 2
    buffer %B0.0 4096 parts 2
    buffer %B0.1 4096 parts 2
  }
  meeting %all parties 4
  role %group0 warps 2 {
    cursor %tile0 in %stages
    queue %vm0
    queue %lgkm0 capacity 15
    issue %vm0 writes %A0.0(%tile0, own)
    issue %vm0 writes %B0.0(%tile0, own) count 2
    drain %vm0 to 2
    meet %all
    issue %lgkm0 reads %A0.0(%tile0), %A0.1(%tile0) count 3
    drain %vm0
    meet %all
    issue %lgkm0 reads %B0.0(%tile0), %B0.1(%tile0) count 4
    meet %all
    for %k {
      issue %lgkm0 reads %A0.0(%tile0), %A0.1(%tile0) count 3
      issue %lgkm0 reads %B0.0(%tile0), %B0.1(%tile0) count 4
      issue %vm0 writes %A0.0(%tile0, 1, own)
      issue %vm0 writes %B0.0(%tile0, 1, own) count 2
      drain %vm0 to 63
      drain %lgkm0 to 15
      meet %all
      advance %tile0
    }
    drain %lgkm0
    issue %lgkm0 reads %A0.0(%tile0), %A0.1(%tile0) count 3
    issue %lgkm0 reads %B0.0(%tile0), %B0.1(%tile0) count 4
    meet %all
    meet %all
    meet %all
  }
  role %group1 warps 2 {
    cursor %tile1 in %stages
    queue %vm1
    queue %lgkm1 capacity 15
    issue %vm1 writes %A0.1(%tile1, own)
    issue %vm1 writes %B0.1(%tile1, own) count 2
    meet %all
    drain %vm1 to 2
)"));
}

TEST_CASE("a stage that no half of a block program has is refused") {
  PipelineProgram program = onePerBlock();
  program.blocks[3].globalLoad1 = loadB(2, 0);
  CHECK(render(loopOf(program, pingPongOfTable(), {}).error()) ==
        "imbrex: error: a block program has 2 halves, but must have at least 3\n");
}

// The numbers of pairs are those that another model of these programs has counted, which numbers
// barriers and knows no clocks: for three trips, and with 4 entries of vm for a load and 8 and 4 of
// lgkm for fragments of A and of B. Of two groups, all four combinations of who reads and who loads
// count.

TEST_CASE("the ping-pong program of one load a block overwrites what may still be read") {
  const Kernel kernel = pingPongKernel(onePerBlock());
  CHECK(findingOf(kernel) == Diag::ScheduleOverwriteRace);
  CHECK(pairsOf(kernel) == Pairs{.read = 0, .overwrite = 36});
}

TEST_CASE("the ping-pong program of 1, 0, 2 and 1 loads overwrites half as much") {
  const Kernel kernel = pingPongKernel(oneNoneTwoOne());
  CHECK(findingOf(kernel) == Diag::ScheduleOverwriteRace);
  CHECK(pairsOf(kernel) == Pairs{.read = 0, .overwrite = 18});
}

TEST_CASE("fewer loads in flight than 12 do not help the ping-pong program, and more harm it") {
  const Kernel kernel = pingPongKernel(onePerBlock());
  for (const std::int64_t left : {9, 10, 11}) {
    CHECK(findingOf(withVm(kernel, 12, left)) == Diag::ScheduleOverwriteRace);
    CHECK(pairsOf(withVm(kernel, 12, left)) == Pairs{.read = 0, .overwrite = 36});
  }
  for (const std::int64_t left : {13, 14, 15, 16}) {
    CHECK(findingOf(withVm(kernel, 12, left)) != std::nullopt);
    CHECK(pairsOf(withVm(kernel, 12, left)).read == 22);
  }
  CHECK(pairsOf(withVm(kernel, 12, 17)).read == 61);
}

TEST_CASE("the ping-pong program needs its wait for fragments of B, though not for registers") {
  Kernel kernel = pingPongKernel(onePerBlock());
  std::erase(kernel.loop.trip, lgkm(8));
  CHECK(findingOf(kernel) == Diag::ScheduleOverwriteRace);
  CHECK(pairsOf(kernel) == Pairs{.read = 0, .overwrite = 42});
}

TEST_CASE("ping-pong programs that load in the last block, or for the other stage, are proven") {
  for (const bool isBBehindBarrier : {false, true}) {
    const Kernel kernel = loadedLate(isBBehindBarrier);
    CHECK(findingOf(kernel) == std::nullopt);
    CHECK(pairsOf(kernel) == Pairs{});
    for (const std::int64_t left : {9, 10, 11})
      CHECK(findingOf(withVm(kernel, 12, left)) == std::nullopt);
    for (const std::int64_t left : {13, 16, 17})
      CHECK(findingOf(withVm(kernel, 12, left)) == Diag::ScheduleReadRace);
  }
  const Kernel kernel = pingPongKernel(forTheOtherStage());
  REQUIRE(std::ranges::count(kernel.loop.trip, vm(0)) == 2);
  CHECK(findingOf(kernel) == std::nullopt);
  CHECK(pairsOf(kernel) == Pairs{});
  CHECK(findingOf(withVm(kernel, 0, 1)) == Diag::ScheduleReadRace);
}

TEST_CASE("four waves by the package's waits read in the epilogue what others may not have loaded, "
          "and overwrite fragments of B that are still read") {
  for (const std::int32_t entries : {1, 2}) {
    Kernel kernel = fourWaveKernel(entries);
    CHECK(findingOf(kernel) == Diag::ScheduleReadRace); // at the shortest run, of no trip
    CHECK(pairsOf(kernel) == Pairs{.read = 6, .overwrite = 6});
    const auto [early, late] = PairCounter(kernel, 3)();
    const std::size_t epilogue = kernel.loop.prologue.size() + 3 * kernel.loop.trip.size();
    for (const auto &read : early) CHECK(read.step >= epilogue);
    for (const auto &read : late) CHECK(read.buffer == "B0");
    kernel.loop.epilogue.insert(kernel.loop.epilogue.begin(), {vm(0), kMeet});
    CHECK(pairsOf(kernel) == Pairs{.read = 0, .overwrite = 6});
    CHECK(findingOf(kernel) == Diag::ScheduleOverwriteRace);
  }
}

TEST_CASE("four waves are proven once fragments are drained before a barrier, and the last loads") {
  for (const std::int32_t entries : {1, 2}) {
    const Kernel kernel = repairedFourWave(entries);
    CHECK(findingOf(kernel) == std::nullopt);
    CHECK(pairsOf(kernel) == Pairs{});
    // Each count of vm is the largest, and each meeting is needed but the package's last one.
    const Tightness waits = tightnessOf(kernel, Kind::WaitVm);
    CHECK(waits.steps == 7);
    CHECK(waits.idle.empty());
    const Tightness meetings = tightnessOf(kernel, Kind::Meet);
    CHECK(meetings.steps == 8);
    CHECK(meetings.idle.size() == 1);
    CHECK(findingOf({{kernel.loop.prologue, kernel.loop.trip,
                      Steps(kernel.loop.epilogue.begin(), kernel.loop.epilogue.end() - 1)},
                     kernel.config,
                     kernel.warps}) == std::nullopt);
  }
}

TEST_CASE("the four-wave product written by hand is proven, and waits for nothing too early") {
  for (const std::int32_t entries : {1, 2}) {
    const Kernel kernel = fourWaveByHand(entries);
    CHECK(findingOf(kernel) == std::nullopt);
    CHECK(pairsOf(kernel) == Pairs{});
    for (const Kind kind : {Kind::WaitVm, Kind::Meet}) {
      const Tightness tightness = tightnessOf(kernel, kind);
      CHECK(tightness.steps == 9);
      CHECK(tightness.idle.empty());
    }
  }
}

TEST_CASE("four waves that wait for one load less read what has not arrived, four times a trip") {
  for (const std::int32_t entries : {1, 2})
    for (const Kernel &kernel : {repairedFourWave(entries), fourWaveByHand(entries)}) {
      const Kernel weaker = withVm(kernel, 4 * entries, 4 * entries + 1);
      CHECK(findingOf(weaker) == Diag::ScheduleReadRace);
      CHECK(pairsOf(weaker) == Pairs{.read = 12, .overwrite = 0});
    }
}
