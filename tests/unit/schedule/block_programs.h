#pragma once

#include "backend/schedule/blocks/block_program.h"

#include <random>

/// Block programs for tests. The ping-pong ones are those that Mojo's pipeline package asserts
/// waits for: two halves of 2 x 2 tiles; half h loads one piece of A for the other half, and A and
/// B for its own next trip.
namespace imbrex::schedule {

inline OpDesc loadA(std::int32_t stage, std::int32_t subtile, KOffset k = KOffset::K0) {
  return {OpTag::LoadA, stage, subtile, k, BlockChannel::A};
}
inline OpDesc loadB(std::int32_t stage, std::int32_t subtile, KOffset k = KOffset::K0) {
  return {OpTag::LoadB, stage, subtile, k, BlockChannel::B};
}
inline OpDesc fragmentA(std::int32_t stage, std::int32_t subtile) {
  return {.tag = OpTag::FragmentA, .stage = stage, .subtile = subtile, .channel = BlockChannel::A};
}
inline OpDesc fragmentB(std::int32_t stage, std::int32_t subtile) {
  return {.tag = OpTag::FragmentB, .stage = stage, .subtile = subtile, .channel = BlockChannel::B};
}
inline OpDesc mma(std::int32_t row, std::int32_t column) {
  return {.tag = OpTag::Mma, .stage = row, .subtile = column};
}

/// The four global loads of a half, in the order of the logical body.
struct PingPongLoads {
  OpDesc other, ownA, ownB0, ownB1;
};
inline PingPongLoads loadsOf(std::int32_t half) {
  const KOffset own = half == 0 ? KOffset::K0 : KOffset::K1;
  return {.other = loadA(1 - half, 1, half == 0 ? KOffset::Previous : KOffset::K0),
          .ownA = loadA(half, 0, own),
          .ownB0 = loadB(half, 0, own),
          .ownB1 = loadB(half, 1, own)};
}

/// The blocks of a half with its fragment loads, and no global load yet.
inline std::vector<MmaBlock> pingPongHalf(std::int32_t half) {
  return {{.preOp0 = fragmentB(half, 0), .preOp1 = fragmentA(half, 0), .mma = mma(0, 0)},
          {.preOp0 = fragmentB(half, 1), .mma = mma(0, 1)},
          {.preOp0 = fragmentA(half, 1), .mma = mma(1, 0)},
          {.mma = mma(1, 1), .postBarrierLgkm = false}};
}

template <class Place>
PipelineProgram pingPong(const Place &place) {
  PipelineProgram program;
  for (const std::int32_t half : {0, 1}) {
    std::vector<MmaBlock> blocks = pingPongHalf(half);
    place(blocks, loadsOf(half));
    program.blocks.insert(program.blocks.end(), blocks.begin(), blocks.end());
  }
  return program;
}

/// One global load in each block: bf16.
inline PipelineProgram onePerBlock() {
  return pingPong([](std::vector<MmaBlock> &blocks, const PingPongLoads &loads) {
    blocks[0].globalLoad = loads.other;
    blocks[1].globalLoad = loads.ownB0;
    blocks[2].globalLoad = loads.ownA;
    blocks[3].globalLoad = loads.ownB1;
  });
}

/// The same number, in the order of the logical body.
inline PipelineProgram inBodyOrder() {
  return pingPong([](std::vector<MmaBlock> &blocks, const PingPongLoads &loads) {
    blocks[0].globalLoad = loads.other;
    blocks[1].globalLoad = loads.ownA;
    blocks[2].globalLoad = loads.ownB0;
    blocks[3].globalLoad = loads.ownB1;
  });
}

/// Global loads 1, 0, 2, 1: fp8.
inline PipelineProgram oneNoneTwoOne() {
  return pingPong([](std::vector<MmaBlock> &blocks, const PingPongLoads &loads) {
    blocks[0].globalLoad = loads.other;
    blocks[2].globalLoad = loads.ownA;
    blocks[2].globalLoad1 = loads.ownB0;
    blocks[3].globalLoad = loads.ownB1;
  });
}

inline PipelineConfig pingPongConfig(std::int32_t vm, std::int32_t lgkm) {
  return {.mMmas = 2,
          .nMmas = 2,
          .vmPerLoadA = vm,
          .vmPerLoadB = vm,
          .lgkmPerLoadA = lgkm,
          .lgkmPerLoadB = lgkm};
}

/// Four waves, each of which has a quarter of the tile, two trips of k in one: what Mojo's package
/// makes of its own product (modular/modular, the schedule beside its 4-wave matmul). Fragments of
/// the next half's first blocks are read in a half's last two.
inline PipelineProgram fourWave(std::int32_t vm) {
  PipelineProgram program;
  for (const std::int32_t half : {0, 1}) {
    const KOffset k = half == 0 ? KOffset::K0 : KOffset::K1;
    const auto block = [&](const OpDesc &fragment, const OpDesc &load, const OpDesc &mma) {
      program.blocks.push_back({.preOp0 = fragment,
                                .globalLoad = load,
                                .mma = mma,
                                .preMmaBarrier = false,
                                .postMmaBarrier = false,
                                .postBarrierLgkm = false});
      return &program.blocks.back();
    };
    block(fragmentB(half, 1), loadA(half, 0, k), mma(0, 0))->entryWait.vm = 4 * vm;
    block(fragmentA(half, 1), loadB(half, 0, k), mma(0, 1))->entryWait.lgkm = 0;
    block(fragmentA(1 - half, 0), loadB(half, 1, k), mma(1, 0))->entryWait = {.vm = 4 * vm,
                                                                              .lgkm = 0};
    block(fragmentB(1 - half, 0), loadA(half, 1, k), mma(1, 1));
  }
  return program;
}

inline PipelineConfig fourWaveConfig(std::int32_t vm, std::int32_t lgkm) {
  PipelineConfig config = pingPongConfig(vm, lgkm);
  config.minimalBarriers = true;
  return config;
}

/// Any program whose fragments are of their half's stage, with any placement of its loads.
struct RandomBlocks {
  PipelineProgram program;
  PipelineConfig config;
};
inline RandomBlocks randomBlocks(std::mt19937 &rng) {
  const auto upTo = [&](std::int32_t most) {
    return std::uniform_int_distribution<std::int32_t>(0, most)(rng);
  };
  RandomBlocks random;
  random.config = {.mMmas = 1 + upTo(3),
                   .nMmas = 1 + upTo(3),
                   .numPartitions = 1 + upTo(1),
                   .vmPerLoadA = 1 + upTo(7),
                   .vmPerLoadB = 1 + upTo(7),
                   .lgkmPerLoadA = 1 + upTo(7),
                   .lgkmPerLoadB = 1 + upTo(7)};
  const auto load = [&]() -> std::optional<OpDesc> {
    if (upTo(2) == 0) return std::nullopt;
    return upTo(1) == 0 ? loadA(upTo(1), upTo(3)) : loadB(upTo(1), upTo(3));
  };
  for (std::int32_t half = 0; half < random.config.numPartitions; ++half)
    for (std::int32_t row = 0; row < random.config.mMmas; ++row)
      for (std::int32_t column = 0; column < random.config.nMmas; ++column) {
        const auto fragment = [&]() -> std::optional<OpDesc> {
          if (upTo(2) == 0) return std::nullopt;
          return upTo(1) == 0 ? fragmentA(half, upTo(2)) : fragmentB(half, upTo(2));
        };
        random.program.blocks.push_back({.preOp0 = fragment(),
                                         .preOp1 = fragment(),
                                         .globalLoad = load(),
                                         .globalLoad1 = load(),
                                         .mma = mma(row, column),
                                         .preMmaBarrier = upTo(3) != 0,
                                         .postBarrierLgkm = upTo(1) == 0,
                                         .drainLgkmBeforeLoads = upTo(5) == 0,
                                         .globalBeforeFrag = upTo(2) == 0,
                                         .barrierBeforePreOps = upTo(4) == 0});
      }
  return random;
}

} // namespace imbrex::schedule
