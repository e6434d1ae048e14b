#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <array>
#include <cstdint>
#include <optional>

/// What the operations give in which the lanes of a warp meet.
namespace imbrex::emulate {

inline constexpr std::uint32_t kMostLanes = 64;
inline constexpr std::size_t kMostOperands = 6;

enum class WarpOperation : std::uint8_t {
  // NVIDIA's
  ShuffleIndex,
  ShuffleUp,
  ShuffleDown,
  ShuffleXor,
  VoteAll,
  VoteAny,
  VoteUniform,
  VoteBallot,
  MatchAny,
  MatchAll,
  ReduceAdd,
  ReduceAnd,
  ReduceOr,
  ReduceXor,
  ReduceUnsignedMin,
  ReduceUnsignedMax,
  ReduceSignedMin,
  ReduceSignedMax,
  Elect,
  ActiveMask,
  // both
  Meet,
  Exchange, ///< Of registers, as the call says: MatrixExchange.
  // AMD's
  Ballot,
  ReadFirstLane,
  ReadLane,
  WriteLane,
  GatherBytes,
  ScatterBytes,
  Swizzle,
  UpdateDpp,
  MoveDpp,
  MoveDpp8,
  PermuteRow,
  PermuteOtherRow,
  SwapHalves,
  SwapRows,
  SwapRowPairs,
};

/// The operands of an intrinsic in their order, each zero-extended.
using Operands = std::array<std::uint64_t, kMostOperands>;

struct LaneResult {
  std::uint64_t value = 0;
  std::uint64_t second = 0; ///< Of an intrinsic with two results.
};

/// A lane that takes the value of one that does not take part.
struct LaneFault {
  std::uint32_t lane;
  std::uint32_t source;
};

struct WarpMeeting {
  WarpOperation operation;
  std::uint32_t warpSize;
  std::uint64_t lanes; ///< That take part.
  llvm::ArrayRef<Operands> operands;

  bool has(std::uint32_t lane) const { return lane < warpSize && (lanes >> lane & 1) != 0; }
};

/// The result of every lane that takes part.
std::optional<LaneFault> evaluate(const WarpMeeting &meeting,
                                  std::array<LaneResult, kMostLanes> &results);

} // namespace imbrex::emulate
