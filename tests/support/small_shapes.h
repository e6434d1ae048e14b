#pragma once

#include "tests/support/schedules.h"

#include <functional>

/// The shapes in which schedules are small enough to be explored, and functions that make them.
namespace imbrex::testing {

inline constexpr GemmShape kGemm = {.depth = 2, .warps = 1};
inline constexpr GemmShape kGemm2 = {.depth = 2, .warps = 2};
inline constexpr GemmShape kTiledGemm = {.depth = 2, .warps = 1, .persistent = true};
inline constexpr GemmShape kAheadGemm = {.depth = 2, .warps = 1, .arrivesAhead = true};
inline constexpr GemmShape kOneSlot = {.depth = 1, .inFlight = 0, .warps = 1};
inline constexpr GemmShape kOneSlotInFlight = {.depth = 1, .inFlight = 1, .warps = 1};
inline constexpr BiasGemmShape kBiasGemm = {.warps = 1};
inline constexpr TensorGemmShape kTensorGemm = {.depth = 2, .resultDepth = 1, .warps = 1};
inline constexpr TensorGemmShape kTwoResults = {.depth = 2, .resultDepth = 2, .warps = 1};
inline constexpr AttentionShape kAttention = {.warps = 1};
inline constexpr AttentionShape kAttention2 = {.keyDepth = 1, .valueDepth = 1, .warps = 2};
inline constexpr GroupedGemmShape kGroupedGemm = {.warps = 2};
inline constexpr GroupedGemmShape kEpilogueGemm = {.warps = 2, .epilogue = true};
inline constexpr PingPongShape kPingPong = {.depth = 2, .warps = 1};
inline constexpr PingPongShape kDeepPingPong = {.depth = 3, .warps = 1};

using Make = std::function<schedule::Program()>;

template <class Shape, class Defect>
inline Make make(schedule::Program (*schedule)(const Shape &, Defect), const Shape &shape,
                 Defect defect = Defect::None) {
  return [=] { return schedule(shape, defect); };
}

inline Make make(schedule::Program (*schedule)(Version), Version version) {
  return [=] { return schedule(version); };
}

inline Make staged(StagedPingPongDefect defect) {
  return [=] { return stagedPingPongGemm(1, defect); };
}

} // namespace imbrex::testing
