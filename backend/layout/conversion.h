#pragma once

#include "backend/layout/matrix.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

/// How a tile gets from the threads that hold it to those that want it: a plan that lowering
/// carries out step by step.
///
/// Both layouts are on the same threads and give coordinates of one tile. What permutes, reshapes
/// or splits a tile on the way is a map of coordinates (backend/analysis/movement.h): `wanted` is
/// then `to` behind that map, in the coordinates of the tile that there is.
///
/// **When do registers do, when lanes?** The element that register r of thread t wants is
/// wanted(r, t). The thread has it if it is from(r', t) for some r', that is, if wanted(r, t) ^
/// from(0, t) is a sum of the registers' columns of `from`. Both sides are linear: it is so
/// everywhere if it is so for each bit of r and of t. Likewise for the warp, with the lanes'
/// columns beside the registers'.
///
/// **One shuffle per register.** Let the place that (r, t) reads be linear, F(r, t). A shuffle
/// gives every lane one value, and every lane chooses whose; but each lane offers only one. Where
/// lane and register change places (a transpose), the lanes want different registers of one lane,
/// and a shuffle per register and lane would be needed. But let thread t take its register r ^ B3·t
/// at a time instead of r, and thread t offer register … ^ B1·t instead of the same as all: then
///
///   result[r](t)   = arrived[r ^ B3·t](t)               selects, one round per rank of B3
///   arrived[r](t)  = offered[r](lane P·r ^ Q·t)         one shuffle per register
///   offered[r](t)  = source[A·r ^ B1·t](t)              selects, one round per rank of B1
///
/// is F for suitable B3 and B1, found by elimination. Where Q can be the identity, the shuffles are
/// exclusive ors with the constant P·r, and those with P·r = 0 are none. (Where a warp wants only
/// some of what it has, and those elements crowd in some of its lanes, r gets bits more: two
/// shuffles, or four, per register.)
///
/// Example: two lanes, two registers, transposed. F swaps the bits; B3 = B1 = Q = P = 1: offer
/// register r ^ lane, read it from lane ^ r, put it in register r ^ lane. For r = 0 there is no
/// shuffle.
namespace imbrex::layout {

/// result[i] = registers[sources[i]]
struct RenameStep {
  std::vector<std::int32_t> sources;
};

/// result[i] = registers[others[i]] in the threads in which an odd number of `threadMask`'s bits
/// are set, registers[sources[i]] in the others. A thread's bits are its lane's, then its warp's.
struct SelectStep {
  Bits threadMask = 0;
  std::vector<std::int32_t> sources, others;
};

/// result[i] = registers[sources[i]] of lane laneMasks[i] ^ (the sum of the laneColumns at the set
/// bits of this thread), in this thread's warp.
struct ShuffleStep {
  std::vector<std::int32_t> sources;
  std::vector<std::uint32_t> laneMasks;
  std::vector<std::uint32_t> laneColumns; ///< One for each bit of the thread.
  /// Lane laneMasks[i] ^ (this lane): the machine's cheap kind of shuffle, and none for a mask of
  /// 0.
  bool isXor = false;
};

using ConversionStep = std::variant<RenameStep, SelectStep, ShuffleStep>;

enum class ConversionKind : std::uint8_t {
  None,      // every register has what it should
  Registers, // each thread has what it wants, in other registers
  Shuffles,  // each warp has what it wants, in other lanes
  Shared,    // through shared memory (shared_conversion.h): no steps
};

struct ConversionPlan {
  ConversionKind kind = ConversionKind::Shared;
  std::vector<ConversionStep> steps;
};

/// A bit of a tile's coordinates that one bit of the registers decides, and nothing else, in both
/// layouts: what is on the one side of it never comes to the other.
struct CommonRegister {
  Bits output; ///< The bit.
  std::int32_t from, wanted;
};
/// All such bits, the highest first.
std::vector<CommonRegister> commonRegisters(const LinearLayout &from, const LinearLayout &wanted);
/// The one whose two elements, where they are small, had best cross lanes together, in a word: that
/// which the lowest register decides behind. Nothing where there is none.
std::optional<CommonRegister> wordRegister(const LinearLayout &from, const LinearLayout &wanted);
/// A layout of one half, without the bit and the register that decides it.
LinearLayout withoutCommonRegister(const LinearLayout &layout, Bits output, std::int32_t bit);

/// The steps within warps; nothing where a warp lacks an element that it wants. Then, and also
/// where a layout in between is none of ours to give (an image that is no full tile may need more
/// than one shuffle per register), there is still shared memory.
std::optional<std::vector<ConversionStep>> planWithinWarps(const LinearLayout &from,
                                                           const LinearLayout &wanted);

/// Whether each element is in a register of the thread that wants it.
inline bool staysInThreads(const ConversionPlan &plan) {
  return plan.kind == ConversionKind::None || plan.kind == ConversionKind::Registers;
}

/// The cheapest way.
ConversionPlan planConversion(const LinearLayout &from, const LinearLayout &wanted);

/// Instructions of a plan's steps, one per register and step; an exclusive or with 0 is none.
struct StepCounts {
  std::int64_t shuffles = 0, selects = 0;
};
StepCounts countSteps(const std::vector<ConversionStep> &steps);

/// For people: "12 shuffles, 32 selects".
std::string toText(const ConversionPlan &plan);

} // namespace imbrex::layout
