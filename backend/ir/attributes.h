#pragma once

#include "backend/ir/choices.h"
#include "backend/ir/fields.h"
#include "backend/ir/ring_attributes.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <string>
#include <variant>

/// What an op fixes at trace time. One struct per family of ops; each lists its fields once, in
/// IMBREX_FIELDS or, where the text has other names for them, in `visit`; printing, parsing,
/// hashing and comparing follow from that list. A field that holds its default is not printed.
namespace imbrex::ir {

struct NoneAttrs {
  bool operator==(const NoneAttrs &) const = default;
  void visit(auto &&) {}
};

struct ConstantAttrs {
  std::uint64_t bits = 0; // the element's bits, zero-extended; printed as a number of its type
  IMBREX_FIELDS(ConstantAttrs, bits)
};

struct AxisAttrs {
  std::int32_t axis = 0;
  IMBREX_FIELDS(AxisAttrs, axis)
};

struct ArangeAttrs {
  std::int64_t start = 0;
  std::int64_t step = 1;
  IMBREX_FIELDS(ArangeAttrs, start, step)
};

struct MathAttrs {
  Accuracy accuracy = Accuracy::Default;
  IMBREX_FIELDS(MathAttrs, accuracy)
};

struct CastAttrs {
  Rounding rounding = Rounding::NearestEven;
  IMBREX_FIELDS(CastAttrs, rounding)
};

struct PermuteAttrs {
  llvm::SmallVector<std::int64_t, 5> order;
  IMBREX_FIELDS(PermuteAttrs, order)
};

struct SliceAttrs {
  llvm::SmallVector<std::int64_t, 5> offsets;
  llvm::SmallVector<std::int64_t, 5> strides;
  IMBREX_FIELDS(SliceAttrs, offsets, strides)
};

/// `ahead`, `width`: of a load in a loop that is being pipelined, from study-loads to apply-plans:
/// what starts it early, and so many neighbours of a thread one copy moves.
struct MemoryAttrs {
  Cache cache = Cache::Default;
  Eviction eviction = Eviction::Normal;
  Ahead ahead = Ahead::No;
  std::int32_t width = 1;
  IMBREX_FIELDS(MemoryAttrs, cache, eviction, ahead, width)
};

/// `ahead`, `width`: as in MemoryAttrs.
struct ViewAttrs {
  BoxUnit unit = BoxUnit::Tiles;
  Padding padding = Padding::Zero;
  Cache cache = Cache::Default;
  Eviction eviction = Eviction::Normal;
  Ahead ahead = Ahead::No;
  std::int32_t width = 1;
  IMBREX_FIELDS(ViewAttrs, unit, padding, cache, eviction, ahead, width)
};

/// `kind` says how atomic_rmw combines; atomic_cas has none and leaves it alone.
struct AtomicAttrs {
  AtomicKind kind = AtomicKind::Add;
  MemoryOrder order = MemoryOrder::AcquireRelease;
  Scope scope = Scope::Device;
  IMBREX_FIELDS(AtomicAttrs, kind, order, scope)
};

/// `deterministic`: float sums and products follow a pairwise tree over the index.
struct ReduceAttrs {
  Combine combine = Combine::Sum;
  std::int32_t axis = 0;
  bool deterministic = false;
  IMBREX_FIELDS(ReduceAttrs, combine, axis, deterministic)
};

struct ScanAttrs {
  Combine combine = Combine::Sum;
  std::int32_t axis = 0;
  bool reverse = false;
  bool exclusive = false;
  IMBREX_FIELDS(ScanAttrs, combine, axis, reverse, exclusive)
};

struct SortAttrs {
  std::int32_t axis = 0;
  bool descending = false;
  IMBREX_FIELDS(SortAttrs, axis, descending)
};

/// How a product runs on a matrix unit.
///
/// `unit`: the matrix instruction that multiplies (docs/matrix-units.md); none: multiply-adds.
/// `transposed`: it multiplies b's transpose by a's, and gives the result's. `warps`: of the block
/// along each axis of the result. `depthOrder`: which bit of k each bit that counts an
/// instruction's k, and then the instructions along k, stands for; none: the same.
struct UnitAttrs {
  std::string unit = {};
  bool transposed = false;
  llvm::SmallVector<std::int64_t, 5> warps = {};
  llvm::SmallVector<std::int64_t, 5> depthOrder = {};
  bool operator==(const UnitAttrs &) const = default;
  void visit(auto &&field) {
    field("unit", unit);
    field("transposed", transposed);
    field("warps", warps);
    field("depth_order", depthOrder);
  }
};

/// `promoteEvery`: sums of fp8 products move to a full f32 accumulator after so many k; 0: as
/// the unit wants it (analysis::instructionsTogether).
struct DotAttrs : UnitAttrs {
  Precision precision = Precision::Ieee;
  std::int32_t promoteEvery = 0;
  bool operator==(const DotAttrs &) const = default;
  void visit(auto &&field) {
    field("precision", precision);
    field("promote_every", promoteEvery);
    UnitAttrs::visit(field);
  }
};

/// Which operands bring a scale: their scale tiles follow the accumulator in this order.
struct DotScaledAttrs : UnitAttrs {
  bool scaleA = true;
  bool scaleB = true;
  bool operator==(const DotScaledAttrs &) const = default;
  void visit(auto &&field) {
    field("scale_a", scaleA);
    field("scale_b", scaleB);
    UnitAttrs::visit(field);
  }
};

struct TextAttrs {
  std::string text;
  IMBREX_FIELDS(TextAttrs, text)
};

/// `text` and `constraints` as in LLVM's inline assembly; `target` as `imbrex targets` prints it.
struct AsmAttrs {
  std::string text;
  std::string constraints;
  std::string target;
  IMBREX_FIELDS(AsmAttrs, text, constraints, target)
};

/// `pipelined`: slots asked for by the author; 0: not asked, kPlannerChooses: as many as pay.
/// `slots`, from plan-loops to apply-plans: those of the rings that its loads run ahead in;
/// kInRegisters: they run one trip ahead in registers; 0: the loop stays as it is. `loader`, from
/// plan-loops to split-roles: a role of its own starts them. `refills`, from plan-loops to
/// apply-plans: it fills the rings of the loop that is so many in front of it, of those that have a
/// plan; 0: it has rings of its own. `turns`: whether halves of the
/// warps are to read and multiply by turns, and the parts of k in which they do: the author's, 0:
/// not asked; from plan-loops to take-turns those that are taken, 0: none.
struct ForAttrs {
  static constexpr std::int32_t kPlannerChooses = -1;
  /// Of more that are asked for so many are taken: loads that are so far ahead hide any latency
  /// there is. The code that starts them has a part for each, and where threads copy the time to
  /// plan them grows with the cube of their number.
  static constexpr std::int32_t kMostSlots = 16;
  static constexpr std::int32_t kInRegisters = 1;
  static constexpr std::int32_t kNoTurns = -1; ///< The author does not want them.
  static constexpr std::int32_t kMostTurns = 64;
  std::int32_t pipelined = 0;
  std::int32_t unroll = 1;
  std::int32_t slots = 0;
  bool loader = false;
  std::int32_t refills = 0;
  std::int32_t turns = 0;
  IMBREX_FIELDS(ForAttrs, pipelined, unroll, slots, loader, refills, turns)
};

/// What holds of a kernel as a whole. `warps` of a block and `registers` of a thread are the
/// author's choice of a GPU's code, 0 where the compiler chooses; what is computed does not depend
/// on them. `contract`: whether products that are added to sums may round once with them. What its
/// launches ask for: blocks side by side in clusters (along x, y, z; empty: none), all of them at
/// once (`cooperative`), or to start before the launch in front has ended (`programmatic`).
struct KernelAttrs {
  // Of any machine: a block has 1024 threads at most, in warps of 32 lanes at least; a thread has
  // at most 1024 registers, and assemblers take no limit below 16.
  static constexpr std::int32_t kMostWarps = 32;
  static constexpr std::int32_t kLeastRegisters = 16, kMostRegisters = 1024;
  std::int32_t warps = 0;
  std::int32_t registers = 0;
  static constexpr std::int64_t kMostClusterBlocks = 16; // of any machine
  Contraction contract = Contraction::On;
  llvm::SmallVector<std::int64_t, 5> cluster = {};
  bool cooperative = false;
  bool programmatic = false;
  IMBREX_FIELDS(KernelAttrs, warps, registers, contract, cluster, cooperative, programmatic)

  /// 1 where there are no clusters.
  std::int64_t clusterBlocks() const {
    std::int64_t blocks = 1;
    for (const std::int64_t extent : cluster) blocks *= extent;
    return blocks;
  }
};

using Attributes =
    std::variant<NoneAttrs, ConstantAttrs, AxisAttrs, ArangeAttrs, MathAttrs, CastAttrs,
                 PermuteAttrs, SliceAttrs, MemoryAttrs, ViewAttrs, AtomicAttrs, ReduceAttrs,
                 ScanAttrs, SortAttrs, DotAttrs, DotScaledAttrs, TextAttrs, AsmAttrs, ForAttrs,
                 RingAttrs, RingCopyAttrs, RingCopyBoxAttrs, CountAttrs, BoxAttrs, BarrierAttrs,
                 BytesAttrs, WaitAttrs, MeetAttrs, RolesAttrs, KernelAttrs>;

} // namespace imbrex::ir
