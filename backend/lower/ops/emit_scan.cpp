#include "backend/lower/memory/exchange.h"
#include "backend/lower/ops/emit_ops.h"
#include "backend/lower/values/combiner.h"

/// Running combinations along an axis, by doubling: after step j every element has the combination
/// of its block of 2^(j+1) elements up to itself.
///
///   index   0  1  2  3        step 0: where bit 0 is 1, the left neighbour's total comes in front
///   step 0  a ab  c cd        step 1: where bit 1 is 1, that of the last element with bit 1 = 0
///   and step 1  a ab abc abcd             all lower bits 1, here element 1
///
/// Whose total it is follows from bits alone, so that any layout will do: registers, lanes or warps
/// may hold any bit of the index. In reverse the zeros and ones change places.
namespace imbrex::lower {

using layout::Dim;
using llvm::Value;

namespace {

class ScanEmitter {
public:
  ScanEmitter(Emitter &emitter, const ir::Op &op)
      : e_(emitter), op_(op), attrs_(op.attrs<ir::ScanAttrs>()), operands_(op.results.size()),
        combiner_(emitter, op, attrs_.combine, operands_), layout_(emitter.layoutOf(op.operand(0))),
        extent_(emitter.type(op.operand(0)).shape()[attrs_.axis]),
        bits_(axisBits(layout_, attrs_.axis)) {}

  void run() {
    for (std::size_t r = 0; r < e_.registerCount(op_.operand(0)); ++r) {
      totals_.push_back(combiner_.load(r, index(r)));
      before_.push_back(totals_.back()); // of no meaning yet
    }
    for (std::size_t bit = 0; bit < bits_.size(); ++bit) step(bit);
    for (std::size_t i = 0; i < operands_; ++i) {
      Registers results;
      for (std::size_t r = 0; r < totals_.size(); ++r) results.push_back(result(i, r));
      e_.define(op_.result(i), std::move(results));
    }
  }

private:
  Value *index(std::size_t r) { return e_.coordinate(layout_, r, attrs_.axis); }

  /// The bits below `bit` that a dimension holds.
  std::uint32_t lower(Dim dim, std::size_t bit) const {
    std::uint32_t mask = 0;
    for (std::size_t i = 0; i < bit; ++i)
      if (bits_[i].dim == dim) mask |= bits_[i].mask;
    return mask;
  }

  /// A register's, lane's or warp's number at the element whose total comes in.
  Value *source(Dim dim, std::size_t bit, Value *own) {
    const std::uint32_t step = bits_[bit].dim == dim ? bits_[bit].mask : 0;
    const std::uint32_t ones = attrs_.reverse ? step : lower(dim, bit);
    const std::uint32_t zeros = attrs_.reverse ? lower(dim, bit) : step;
    return e_.b.CreateOr(e_.b.CreateAnd(own, e_.b.getInt32(~zeros)), e_.b.getInt32(ones));
  }
  std::size_t sourceRegister(std::size_t bit, std::size_t r) const {
    const std::uint32_t step = bits_[bit].dim == Dim::Register ? bits_[bit].mask : 0;
    const std::size_t ones = attrs_.reverse ? step : lower(Dim::Register, bit);
    const std::size_t zeros = attrs_.reverse ? lower(Dim::Register, bit) : step;
    return (r & ~zeros) | ones;
  }

  /// The totals that come in, of some registers.
  std::vector<Combined> fetch(std::size_t bit, llvm::ArrayRef<std::size_t> registers) {
    const auto isInvolved = [&](Dim dim) { return bits_[bit].dim == dim || lower(dim, bit) != 0; };
    std::vector<Combined> fetched(registers.size());
    if (isInvolved(Dim::Warp)) {
      Value *lanes = e_.b.getInt32(static_cast<std::uint32_t>(e_.kernel.threads().lanes));
      Value *thread = e_.b.CreateAdd(e_.b.CreateMul(source(Dim::Warp, bit, e_.warp()), lanes),
                                     source(Dim::Lane, bit, e_.lane()));
      for (std::size_t c = 0; c < totals_[0].size(); ++c) {
        Registers values;
        for (const std::size_t r : registers) values.push_back(totals_[r][c]);
        const auto ofThread = fetchFromThreads(e_, values, thread);
        for (std::size_t i = 0; i < registers.size(); ++i) fetched[i].push_back(ofThread[i][0]);
      }
      return fetched;
    }
    Value *lane = isInvolved(Dim::Lane) ? source(Dim::Lane, bit, e_.lane()) : nullptr;
    for (std::size_t i = 0; i < registers.size(); ++i)
      for (Value *x : totals_[registers[i]]) fetched[i].push_back(lane ? shuffle(e_, x, lane) : x);
    return fetched;
  }

  /// Whether an element takes part in a step: null where all of the register's do.
  Value *takesPart(std::size_t bit, std::size_t r) {
    llvm::SmallVector<Value *, 2> conditions;
    const std::int64_t mask = std::int64_t{1} << bit;
    if (bits_[bit].dim != Dim::Register) {
      Value *isOne = e_.b.CreateICmpNE(e_.b.CreateAnd(index(r), e_.i32(mask)), e_.i32(0));
      conditions.push_back(attrs_.reverse ? e_.b.CreateNot(isOne) : isOne);
    }
    if (attrs_.reverse && !llvm::has_single_bit(static_cast<std::uint64_t>(extent_))) {
      Value *above = e_.b.CreateAnd(index(r), e_.i32(~(2 * mask - 1)));
      Value *first = e_.b.CreateOr(above, e_.i32(mask));
      conditions.push_back(e_.b.CreateICmpULT(first, e_.i32(extent_)));
    }
    return e_.allOf(conditions);
  }

  /// Whether no element of its block of 2^bit stands in front of one.
  Value *isFirstOfBlock(std::size_t bit, std::size_t r) {
    const std::int64_t below = (std::int64_t{1} << bit) - 1;
    if (!attrs_.reverse)
      return e_.b.CreateICmpEQ(e_.b.CreateAnd(index(r), e_.i32(below)), e_.i32(0));
    Value *next = e_.b.CreateAdd(index(r), e_.i32(1));
    Value *isBorder = e_.b.CreateICmpEQ(e_.b.CreateAnd(next, e_.i32(below)), e_.i32(0));
    return e_.b.CreateOr(isBorder, e_.b.CreateICmpUGE(next, e_.i32(extent_)));
  }

  void step(std::size_t bit) {
    const bool isRegister = bits_[bit].dim == Dim::Register;
    std::vector<std::size_t> affected, sources;
    for (std::size_t r = 0; r < totals_.size(); ++r) {
      const bool isOne = (r & bits_[bit].mask) != 0;
      if (!isRegister || isOne != attrs_.reverse) affected.push_back(r);
    }
    for (const std::size_t r : affected)
      if (!llvm::is_contained(sources, sourceRegister(bit, r)))
        sources.push_back(sourceRegister(bit, r));
    const std::vector<Combined> fetched = fetch(bit, sources);
    for (const std::size_t r : affected) {
      const auto from = llvm::find(sources, sourceRegister(bit, r)) - sources.begin();
      update(bit, r, fetched[static_cast<std::size_t>(from)]);
    }
  }

  void update(std::size_t bit, std::size_t r, const Combined &incoming) {
    Value *condition = takesPart(bit, r);
    const auto change = [&](Combined &state, const Combined &changed) {
      state = condition ? combiner_.select(condition, changed, state) : changed;
    };
    if (attrs_.exclusive)
      change(before_[r], combiner_.select(isFirstOfBlock(bit, r), incoming,
                                          combiner_.combine(incoming, before_[r])));
    change(totals_[r], combiner_.combine(incoming, totals_[r]));
  }

  Value *result(std::size_t i, std::size_t r) {
    if (!attrs_.exclusive) return combiner_.result(i, totals_[r]);
    const bool hasRegion = attrs_.combine == ir::Combine::Region;
    Combined initial;
    if (hasRegion)
      for (std::size_t k = 0; k < operands_; ++k)
        initial.push_back(e_.scalar(op_.operand(operands_ + k)));
    Value *first = e_.i32(attrs_.reverse ? extent_ - 1 : 0);
    Value *isFirst = e_.b.CreateICmpEQ(index(r), first);
    Value *later =
        combiner_.result(i, hasRegion ? combiner_.combine(initial, before_[r]) : before_[r]);
    return e_.b.CreateSelect(isFirst, hasRegion ? initial[i] : combiner_.start(i), later);
  }

  Emitter &e_;
  const ir::Op &op_;
  const ir::ScanAttrs &attrs_;
  std::size_t operands_;
  Combiner combiner_;
  const layout::LinearLayout &layout_;
  std::int64_t extent_;
  llvm::SmallVector<AxisBit, 16> bits_;
  std::vector<Combined> totals_; // by register: up to and with the element
  std::vector<Combined> before_; // by register: up to the element, without it
};

} // namespace

void emitScan(Emitter &e, const ir::Op &op) { ScanEmitter(e, op).run(); }

} // namespace imbrex::lower
