#include "backend/lower/memory/exchange.h"
#include "backend/lower/ops/emit_ops.h"
#include "backend/lower/values/combiner.h"

#include <algorithm>

/// An axis folded away: in the registers of a thread, then among lanes by shuffles, then among
/// warps through shared memory. Every thread ends with the results that its layout without the axis
/// says.
///
/// An element's index along the axis is a number of bits, each held by registers, lanes or warps.
/// To fold bit j is to combine the elements whose bit j is 0 with those whose bit j is 1; where
/// that must happen in order (a region, the pairwise tree of `deterministic`) the bits go from the
/// lowest to the highest, which is the tree of neighbours. Otherwise registers go first, for they
/// are cheapest.
namespace imbrex::lower {

using layout::Dim;
using llvm::Value;

namespace {

class ReduceEmitter {
public:
  ReduceEmitter(Emitter &emitter, const ir::Op &op)
      : e_(emitter), op_(op), attrs_(op.attrs<ir::ReduceAttrs>()),
        combiner_(emitter, op, attrs_.combine, op.operands.size(),
                  attrs_.deterministic ? Combiner::Rounding::EachTime
                                       : Combiner::Rounding::AtTheEnd),
        layout_(emitter.layoutOf(op.operand(0))),
        extent_(emitter.type(op.operand(0)).shape()[attrs_.axis]),
        bits_(axisBits(layout_, attrs_.axis)),
        isOrdered_(attrs_.deterministic || !combiner_.isCommutative()),
        isPaired_(!isOrdered_ && combiner_.hasPairs()) {}

  void run() {
    load();
    foldBits();
    for (std::size_t i = 0; i < op_.results.size(); ++i) {
      Registers results;
      for (const std::size_t r : live_) results.push_back(combiner_.result(i, states_[r]));
      e_.define(op_.result(i), std::move(results));
    }
  }

private:
  bool hasPadding() const { return !llvm::has_single_bit(static_cast<std::uint64_t>(extent_)); }

  void load() {
    const std::size_t count = e_.registerCount(op_.operand(0));
    for (std::size_t r = 0; r < count; ++r) {
      Value *index = e_.coordinate(layout_, r, attrs_.axis);
      Combined state = combiner_.load(r, index);
      if (hasPadding() && !isOrdered_)
        state = combiner_.select(e_.b.CreateICmpULT(index, e_.i32(extent_)), state,
                                 combiner_.identity());
      states_.push_back(std::move(state));
      live_.push_back(r);
    }
  }

  void foldBits() {
    std::vector<std::size_t> order(bits_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (!isOrdered_)
      std::ranges::stable_sort(order, {}, [&](std::size_t i) {
        // Neighbours in registers are pairs as long as those far from each other are folded.
        const bool isFarFirst = isPaired_ && bits_[i].dim == Dim::Register;
        return std::pair(bits_[i].dim, isFarFirst ? -std::int64_t{bits_[i].mask} : 0);
      });
    for (std::size_t i = 0; i < order.size();) {
      const std::size_t bit = order[i++];
      if (bits_[bit].dim == Dim::Register) foldRegisters(bit);
      if (bits_[bit].dim == Dim::Lane) foldLanes(bit);
      if (bits_[bit].dim != Dim::Warp) continue;
      std::vector<std::size_t> run{bit};
      while (i < order.size() && bits_[order[i]].dim == Dim::Warp) run.push_back(order[i++]);
      foldWarps(run);
    }
  }

  /// Whether the right one of two that bit `bit` tells apart is there and not padding; null where
  /// it always is. What was folded before is named by its first index, whose lower bits are 0.
  Value *isRightThere(std::size_t bit, Value *index) {
    if (!isOrdered_ || !hasPadding()) return nullptr;
    const std::int64_t right = std::int64_t{1} << bit;
    Value *above = e_.b.CreateAnd(index, e_.i32(~(2 * right - 1)));
    return e_.b.CreateICmpULT(e_.b.CreateOr(above, e_.i32(right)), e_.i32(extent_));
  }

  Combined fold(const Combined &left, const Combined &right, Value *isThere) {
    Combined both = combiner_.combine(left, right);
    return isThere ? combiner_.select(isThere, both, left) : both;
  }

  void foldRegisters(std::size_t bit) {
    const std::size_t mask = bits_[bit].mask;
    if (isPaired_ && foldPairs(mask)) return;
    std::vector<std::size_t> left;
    for (const std::size_t r : live_) {
      if ((r & mask) != 0) continue;
      Value *index = e_.coordinate(layout_, r, attrs_.axis);
      states_[r] = fold(states_[r], states_[r | mask], isRightThere(bit, index));
      left.push_back(r);
    }
    live_ = std::move(left);
  }

  /// Two registers onto two others at a time, where their number is even.
  bool foldPairs(std::size_t mask) {
    std::vector<std::size_t> left;
    for (const std::size_t r : live_)
      if ((r & mask) == 0) left.push_back(r);
    if (left.size() % 2 != 0) return false;
    for (std::size_t i = 0; i < left.size(); i += 2) {
      const std::size_t a = left[i], b = left[i + 1];
      const Combined both =
          combiner_.combine({vectorOf(e_.b, {states_[a][0], states_[b][0]})},
                            {vectorOf(e_.b, {states_[a | mask][0], states_[b | mask][0]})});
      const auto [first, second] = halvesOf(e_.b, both[0]);
      states_[a] = {first};
      states_[b] = {second};
    }
    live_ = std::move(left);
    return true;
  }

  void foldLanes(std::size_t bit) {
    const std::uint32_t mask = bits_[bit].mask;
    // Lanes that have been folded into each other hold the same.
    const std::uint32_t across = e_.words.cheapestMask(mask, foldedLanes_);
    foldedLanes_ |= mask;
    Value *isRight = e_.b.CreateICmpNE(e_.b.CreateAnd(e_.lane(), e_.b.getInt32(mask)), e_.i32(0));
    for (const std::size_t r : live_) {
      Combined other;
      for (Value *x : states_[r]) other.push_back(shuffleXor(e_, x, across));
      if (!isOrdered_) {
        states_[r] = combiner_.combine(states_[r], other);
        continue;
      }
      const Combined left = combiner_.select(isRight, other, states_[r]);
      const Combined right = combiner_.select(isRight, states_[r], other);
      states_[r] = fold(left, right, isRightThere(bit, e_.coordinate(layout_, r, attrs_.axis)));
    }
  }

  /// The threads that hold the partial results which the warps' bits tell apart, this one among
  /// them, in the order of the bits.
  Registers partners(llvm::ArrayRef<std::size_t> run) {
    const std::int64_t lanes = e_.kernel.threads().lanes;
    std::int64_t all = 0;
    for (const std::size_t bit : run) all |= bits_[bit].mask * lanes;
    Value *rest = e_.b.CreateAnd(e_.thread(), e_.i32(~all));
    Registers threads;
    for (std::size_t which = 0; which < std::size_t{1} << run.size(); ++which) {
      std::int64_t warps = 0;
      for (std::size_t i = 0; i < run.size(); ++i)
        if ((which >> i & 1) != 0) warps |= bits_[run[i]].mask * lanes;
      threads.push_back(e_.b.CreateOr(rest, e_.i32(warps)));
    }
    return threads;
  }

  /// Whether all lanes of a warp hold the same of what is left.
  bool areLanesAlike() const {
    const auto lanes = layout_.columns(Dim::Lane);
    for (std::size_t bit = 0; bit < lanes.size(); ++bit)
      if (lanes[bit] != 0 && (foldedLanes_ >> bit & 1) == 0) return false;
    return true;
  }

  /// Of each value, those of the warps that a run of bits tells apart, in the order of the bits.
  std::vector<Registers> fetch(llvm::ArrayRef<Value *> values, llvm::ArrayRef<std::size_t> run) {
    if (!areLanesAlike()) return fetchFromThreads(e_, values, partners(run));
    llvm::SmallVector<std::uint32_t, 8> warps;
    for (const std::size_t bit : run) warps.push_back(bits_[bit].mask);
    return fetchFromWarps(e_, values, warps);
  }

  /// As many registers at a time as have room for what is fetched for them, which is read whole
  /// before the first is folded: half of what most machines have is left for the rest.
  void foldWarps(llvm::ArrayRef<std::size_t> run) {
    constexpr std::size_t kMostFetched = 128;
    const std::size_t fetchedForEach = states_[live_[0]].size() << run.size();
    const std::size_t most = std::max<std::size_t>(kMostFetched / fetchedForEach, 1);
    for (llvm::ArrayRef<std::size_t> rest = live_; !rest.empty();) {
      const auto round = rest.take_front(most);
      rest = rest.drop_front(round.size());
      foldWarps(run, round);
    }
  }

  void foldWarps(llvm::ArrayRef<std::size_t> run, llvm::ArrayRef<std::size_t> registers) {
    std::vector<std::vector<Registers>> fetched; // per component, per register, per warp
    for (std::size_t c = 0; c < states_[registers[0]].size(); ++c) {
      Registers values;
      for (const std::size_t r : registers) values.push_back(states_[r][c]);
      fetched.push_back(fetch(values, run));
    }
    for (std::size_t i = 0; i < registers.size(); ++i) {
      std::vector<Combined> parts(std::size_t{1} << run.size());
      for (std::size_t w = 0; w < parts.size(); ++w)
        for (const auto &component : fetched) parts[w].push_back(component[i][w]);
      states_[registers[i]] = foldTree(std::move(parts), run, registers[i]);
    }
  }

  Combined foldTree(std::vector<Combined> parts, llvm::ArrayRef<std::size_t> run, std::size_t r) {
    Value *own = e_.coordinate(layout_, r, attrs_.axis);
    for (std::size_t level = 0; level < run.size(); ++level)
      for (std::size_t i = 0; i + (std::size_t{1} << level) < parts.size();
           i += std::size_t{2} << level) {
        // The index of part i: its own bits of this run in place of this thread's.
        std::int64_t clear = 0, set = 0;
        for (std::size_t k = 0; k < run.size(); ++k) {
          clear |= std::int64_t{1} << run[k];
          if ((i >> k & 1) != 0) set |= std::int64_t{1} << run[k];
        }
        Value *index = e_.b.CreateOr(e_.b.CreateAnd(own, e_.i32(~clear)), e_.i32(set));
        parts[i] =
            fold(parts[i], parts[i + (std::size_t{1} << level)], isRightThere(run[level], index));
      }
    return parts[0];
  }

  Emitter &e_;
  const ir::Op &op_;
  const ir::ReduceAttrs &attrs_;
  Combiner combiner_;
  const layout::LinearLayout &layout_;
  std::int64_t extent_;
  llvm::SmallVector<AxisBit, 16> bits_;
  bool isOrdered_;
  bool isPaired_;                 // registers are folded two and two at once
  std::vector<Combined> states_;  // by register
  std::vector<std::size_t> live_; // the registers that are not folded yet
  std::uint32_t foldedLanes_ = 0; // bits of a lane's number
};

} // namespace

void emitReduce(Emitter &e, const ir::Op &op) { ReduceEmitter(e, op).run(); }

} // namespace imbrex::lower
