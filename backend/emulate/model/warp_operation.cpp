#include "backend/emulate/model/warp_operation.h"

#include "backend/support/check.h"

#include <algorithm>
#include <bit>

namespace imbrex::emulate {
namespace {

using Results = std::array<LaneResult, kMostLanes>;
using Fault = std::optional<LaneFault>;

template <class Function>
void forEachLane(const WarpMeeting &meeting, Function &&function) {
  for (std::uint64_t lanes = meeting.lanes; lanes != 0; lanes &= lanes - 1)
    function(static_cast<std::uint32_t>(std::countr_zero(lanes)));
}

// --- values of other lanes ---

/// Every lane takes operand `taken` of the lane that `sourceOf` names.
template <class SourceOf>
Fault gather(const WarpMeeting &meeting, Results &results, std::size_t taken, SourceOf &&sourceOf) {
  Fault fault;
  forEachLane(meeting, [&](std::uint32_t lane) {
    const std::uint32_t source = sourceOf(lane, meeting.operands[lane]);
    if (!meeting.has(source)) {
      if (!fault) fault = LaneFault{lane, source};
      return;
    }
    results[lane].value = meeting.operands[source][taken];
  });
  return fault;
}

/// PTX ISA 9.0, 9.7.9.6: the source of a shuffle, before it is clamped to the lane's segment.
std::int32_t shuffleSource(WarpOperation operation, std::int32_t lane, std::int32_t b,
                           std::int32_t segment) {
  if (operation == WarpOperation::ShuffleUp) return lane - b;
  if (operation == WarpOperation::ShuffleDown) return lane + b;
  if (operation == WarpOperation::ShuffleXor) return lane ^ b;
  return (lane & segment) | (b & ~segment & 31);
}

Fault shuffle(const WarpMeeting &meeting, Results &results) {
  return gather(meeting, results, 1, [&](std::uint32_t lane, const Operands &operands) {
    const auto b = static_cast<std::int32_t>(operands[2] & 31);
    const auto clamp = static_cast<std::int32_t>(operands[3] & 31);
    const auto segment = static_cast<std::int32_t>(operands[3] >> 8 & 31);
    const auto own = static_cast<std::int32_t>(lane);
    const std::int32_t last = (own & segment) | (clamp & ~segment);
    const std::int32_t source = shuffleSource(meeting.operation, own, b, segment);
    const bool inside =
        meeting.operation == WarpOperation::ShuffleUp ? source >= last : source <= last;
    results[lane].second = inside ? 1 : 0;
    return inside ? static_cast<std::uint32_t>(source) : lane;
  });
}

Fault gatherBytes(const WarpMeeting &meeting, Results &results) {
  return gather(meeting, results, 1, [&](std::uint32_t, const Operands &operands) {
    return static_cast<std::uint32_t>(operands[0] / 4 % meeting.warpSize);
  });
}

void scatterBytes(const WarpMeeting &meeting, Results &results) {
  forEachLane(meeting, [&](std::uint32_t lane) {
    results[meeting.operands[lane][0] / 4 % meeting.warpSize].value = meeting.operands[lane][1];
  });
}

Fault readLane(const WarpMeeting &meeting, Results &results) {
  return gather(meeting, results, 0, [&](std::uint32_t, const Operands &operands) {
    return static_cast<std::uint32_t>(operands[1] % meeting.warpSize);
  });
}

void writeLane(const WarpMeeting &meeting, Results &results) {
  forEachLane(meeting, [&](std::uint32_t lane) {
    const Operands &operands = meeting.operands[lane];
    results[lane].value = operands[1] % meeting.warpSize == lane ? operands[0] : operands[2];
  });
}

/// Bit 15 of the pattern: four lanes among themselves, else masks within 32 lanes.
Fault swizzle(const WarpMeeting &meeting, Results &results) {
  return gather(meeting, results, 0, [&](std::uint32_t lane, const Operands &operands) {
    const auto pattern = static_cast<std::uint32_t>(operands[1]);
    if ((pattern & 0x8000) != 0) return (lane & ~3u) | (pattern >> 2 * (lane & 3) & 3);
    const std::uint32_t kept = lane & pattern & 31;
    return (lane & ~31u) | ((kept | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31));
  });
}

// --- data-parallel primitives: rows of 16 lanes ---

constexpr std::uint32_t kNoLane = ~0u;

/// The source of a lane under a DPP control; kNoLane where the row, or the warp, ends. The codes:
/// LLVM's AMDGPU::DPP::DppCtrl.
std::uint32_t dppSource(std::uint32_t control, std::uint32_t lane) {
  const std::uint32_t row = lane & ~15u, column = lane & 15, amount = control & 15;
  switch (control >> 4) {
  case 0x10: return column + amount < 16 ? lane + amount : kNoLane;
  case 0x11: return column >= amount ? lane - amount : kNoLane;
  case 0x12: return row | ((column - amount) & 15);
  case 0x15: return row | amount;
  case 0x16: return row | (column ^ amount);
  default: break;
  }
  if (control < 0x100) return (lane & ~3u) | (control >> 2 * (lane & 3) & 3);
  switch (control) {
  case 0x130: return lane + 1 < kMostLanes ? lane + 1 : kNoLane;
  case 0x134: return (lane + 1) % kMostLanes;
  case 0x138: return lane > 0 ? lane - 1 : kNoLane;
  case 0x13c: return (lane - 1) % kMostLanes;
  case 0x140: return row | (15 - column);
  case 0x141: return (lane & ~7u) | (7 - (lane & 7));
  case 0x142: return row > 0 ? row - 1 : kNoLane;
  case 0x143: return lane >= 32 ? 31 : kNoLane;
  default: IMBREX_UNREACHABLE("DPP control {0}", control);
  }
}

struct DppOperands {
  std::uint64_t old, source;
  std::uint32_t control, rowMask, bankMask;
  bool zeroOutside;
};

DppOperands dppOperands(const Operands &operands, bool hasOld) {
  const std::size_t at = hasOld ? 1 : 0;
  return {.old = hasOld ? operands[0] : 0,
          .source = operands[at],
          .control = static_cast<std::uint32_t>(operands[at + 1]),
          .rowMask = static_cast<std::uint32_t>(operands[at + 2]),
          .bankMask = static_cast<std::uint32_t>(operands[at + 3]),
          .zeroOutside = operands[at + 4] != 0};
}

void moveDpp(const WarpMeeting &meeting, Results &results, bool hasOld) {
  forEachLane(meeting, [&](std::uint32_t lane) {
    const DppOperands dpp = dppOperands(meeting.operands[lane], hasOld);
    const bool isMasked =
        (dpp.rowMask >> lane / 16 & 1) == 0 || (dpp.bankMask >> lane % 16 / 4 & 1) == 0;
    const std::uint32_t source = dppSource(dpp.control, lane);
    if (isMasked)
      results[lane].value = dpp.old;
    else if (meeting.has(source))
      results[lane].value = dppOperands(meeting.operands[source], hasOld).source;
    else
      results[lane].value = dpp.zeroOutside ? 0 : dpp.old;
  });
}

Fault moveDpp8(const WarpMeeting &meeting, Results &results) {
  return gather(meeting, results, 0, [](std::uint32_t lane, const Operands &operands) {
    return (lane & ~7u) | static_cast<std::uint32_t>(operands[1] >> 3 * (lane & 7) & 7);
  });
}

/// Each lane of a row takes from the lane that four bits of the selectors name, in its own row or
/// in the other row of its pair.
Fault permuteRow(const WarpMeeting &meeting, Results &results, std::uint32_t otherRow) {
  return gather(meeting, results, 1, [&](std::uint32_t lane, const Operands &operands) {
    const std::uint64_t selectors = operands[3] << 32 | (operands[2] & 0xffffffff);
    const auto column = static_cast<std::uint32_t>(selectors >> 4 * (lane & 15) & 15);
    return ((lane & ~15u) ^ otherRow) | column;
  });
}

Fault swapHalves(const WarpMeeting &meeting, Results &results) {
  return gather(meeting, results, 0, [&](std::uint32_t lane, const Operands &) {
    return meeting.warpSize == 64 ? lane ^ 32 : lane;
  });
}

/// The rows (16 lanes, or 32) with an odd number of the first operand change places with the even
/// ones of the second.
void swapRows(const WarpMeeting &meeting, Results &results, std::uint32_t rowLanes) {
  forEachLane(meeting, [&](std::uint32_t lane) {
    const Operands &own = meeting.operands[lane];
    const std::uint32_t other = lane ^ rowLanes;
    const bool isOdd = (lane & rowLanes) != 0;
    results[lane].value = isOdd ? meeting.operands[other][1] : own[0];
    results[lane].second = isOdd ? own[1] : meeting.operands[other][0];
  });
}

// --- what all lanes learn ---

std::uint64_t lanesWhere(const WarpMeeting &meeting, std::size_t operand) {
  std::uint64_t mask = 0;
  forEachLane(meeting, [&](std::uint32_t lane) {
    if ((meeting.operands[lane][operand] & 1) != 0) mask |= std::uint64_t{1} << lane;
  });
  return mask;
}

void giveAll(const WarpMeeting &meeting, Results &results, LaneResult result) {
  forEachLane(meeting, [&](std::uint32_t lane) { results[lane] = result; });
}

std::uint64_t lanesLike(const WarpMeeting &meeting, std::uint32_t lane) {
  std::uint64_t mask = 0;
  forEachLane(meeting, [&](std::uint32_t other) {
    if (meeting.operands[other][1] == meeting.operands[lane][1]) mask |= std::uint64_t{1} << other;
  });
  return mask;
}

void matchAny(const WarpMeeting &meeting, Results &results) {
  forEachLane(meeting, [&](std::uint32_t lane) { results[lane].value = lanesLike(meeting, lane); });
}

void matchAll(const WarpMeeting &meeting, Results &results) {
  const auto first = static_cast<std::uint32_t>(std::countr_zero(meeting.lanes));
  const bool same = lanesLike(meeting, first) == meeting.lanes;
  giveAll(meeting, results, {same ? meeting.lanes : 0, same ? 1u : 0u});
}

template <class Combine>
void reduce(const WarpMeeting &meeting, Results &results, Combine &&combine) {
  const auto first = static_cast<std::uint32_t>(std::countr_zero(meeting.lanes));
  auto total = static_cast<std::uint32_t>(meeting.operands[first][0]);
  forEachLane(meeting, [&](std::uint32_t lane) {
    if (lane != first)
      total = combine(total, static_cast<std::uint32_t>(meeting.operands[lane][0]));
  });
  giveAll(meeting, results, {total, 0});
}

using U32 = std::uint32_t;
U32 signedMin(U32 a, U32 b) {
  return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b) ? a : b;
}
U32 signedMax(U32 a, U32 b) {
  return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b) ? b : a;
}

void elect(const WarpMeeting &meeting, Results &results) {
  const auto leader = static_cast<std::uint32_t>(std::countr_zero(meeting.lanes));
  forEachLane(meeting,
              [&](std::uint32_t lane) { results[lane] = {leader, lane == leader ? 1u : 0u}; });
}

void readFirstLane(const WarpMeeting &meeting, Results &results) {
  giveAll(meeting, results,
          {meeting.operands[static_cast<std::size_t>(std::countr_zero(meeting.lanes))][0], 0});
}

} // namespace

std::optional<LaneFault> evaluate(const WarpMeeting &meeting, Results &results) {
  using enum WarpOperation;
  const std::uint64_t all = meeting.lanes;
  results = {};
  switch (meeting.operation) {
  case ShuffleIndex:
  case ShuffleUp:
  case ShuffleDown:
  case ShuffleXor: return shuffle(meeting, results);
  case GatherBytes: return gatherBytes(meeting, results);
  case ReadLane: return readLane(meeting, results);
  case Swizzle: return swizzle(meeting, results);
  case MoveDpp8: return moveDpp8(meeting, results);
  case PermuteRow: return permuteRow(meeting, results, 0);
  case PermuteOtherRow: return permuteRow(meeting, results, 16);
  case SwapHalves: return swapHalves(meeting, results);

  case VoteAll: giveAll(meeting, results, {lanesWhere(meeting, 1) == all, 0}); break;
  case VoteAny: giveAll(meeting, results, {lanesWhere(meeting, 1) != 0, 0}); break;
  case VoteUniform: {
    const std::uint64_t mask = lanesWhere(meeting, 1);
    giveAll(meeting, results, {mask == all || mask == 0, 0});
    break;
  }
  case VoteBallot: giveAll(meeting, results, {lanesWhere(meeting, 1), 0}); break;
  case Ballot: giveAll(meeting, results, {lanesWhere(meeting, 0), 0}); break;
  case ActiveMask: giveAll(meeting, results, {all, 0}); break;
  case MatchAny: matchAny(meeting, results); break;
  case MatchAll: matchAll(meeting, results); break;
  case ReduceAdd: reduce(meeting, results, [](U32 a, U32 b) { return a + b; }); break;
  case ReduceAnd: reduce(meeting, results, [](U32 a, U32 b) { return a & b; }); break;
  case ReduceOr: reduce(meeting, results, [](U32 a, U32 b) { return a | b; }); break;
  case ReduceXor: reduce(meeting, results, [](U32 a, U32 b) { return a ^ b; }); break;
  case ReduceUnsignedMin:
    reduce(meeting, results, [](U32 a, U32 b) { return std::min(a, b); });
    break;
  case ReduceUnsignedMax:
    reduce(meeting, results, [](U32 a, U32 b) { return std::max(a, b); });
    break;
  case ReduceSignedMin: reduce(meeting, results, signedMin); break;
  case ReduceSignedMax: reduce(meeting, results, signedMax); break;
  case Elect: elect(meeting, results); break;
  case ReadFirstLane: readFirstLane(meeting, results); break;
  case WriteLane: writeLane(meeting, results); break;
  case ScatterBytes: scatterBytes(meeting, results); break;
  case UpdateDpp: moveDpp(meeting, results, true); break;
  case MoveDpp: moveDpp(meeting, results, false); break;
  case SwapRows: swapRows(meeting, results, 16); break;
  case SwapRowPairs: swapRows(meeting, results, 32); break;
  case Meet:
  case Exchange: break;
  }
  return std::nullopt;
}

} // namespace imbrex::emulate
