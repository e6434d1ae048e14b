#include "backend/passes/pipeline/carry_fragments.h"

#include "backend/analysis/matrix_product.h"
#include "backend/analysis/ring_copies.h"
#include "backend/ir/products.h"
#include "backend/ir/shared_tiles.h"
#include "backend/machine/occupancy.h"
#include "backend/passes/pipeline/copy_ops.h"
#include "backend/passes/rewriting.h"
#include "backend/passes/unit_registers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;

/// A product of a loop that sums up from trip to trip.
struct LaggingProduct {
  Op *loop;
  Op *dot;
  std::size_t sums;  ///< Among what the loop carries.
  std::int64_t last; ///< So many of k are multiplied in the next trip.
};

/// The product's order of k, of a part.
llvm::SmallVector<std::int64_t, 5> orderOf(const Op &dot, std::int64_t depth) {
  const auto order = llvm::ArrayRef(unitAttrs(dot).depthOrder);
  const auto bits = static_cast<std::size_t>(layout::bitsFor(depth));
  return llvm::to_vector<5>(order.take_front(std::min(bits, order.size())));
}

/// How the threads hold so many of k of an operand, as fragments.
layout::LinearLayout fragmentsOf(const Kernel &kernel, const machine::Machine &machine,
                                 const Op &dot, std::size_t operand, std::int64_t depth) {
  const auto order = orderOf(dot, depth);
  return analysis::fragmentReads(kernel, dot, operand,
                                 {.unit = *analysis::unitOf(kernel, dot, machine),
                                  .bits = layout::bitsFor(depth),
                                  .order = order})
      .places;
}

// --- which ---

class LaggingFinder {
public:
  LaggingFinder(Kernel &kernel, const machine::Machine &machine)
      : kernel_(kernel), machine_(machine), uses_(countUses(kernel)) {}

  std::vector<LaggingProduct> find() {
    visit(kernel_.body(), 0);
    return std::move(found_);
  }

private:
  /// `around`: the registers that go from trip to trip of loops around.
  void visit(Block &block, std::int64_t around) {
    for (const auto &op : block.ops) {
      const bool carries = isLoop(*op);
      const std::int64_t held = around + (carries ? carriedRegisters(*op) : 0);
      for (Block &region : op->regions) visit(region, held);
      if (op->kind != OpKind::For) continue;
      held_ = held;
      for (const auto &inner : op->regions[0].ops)
        if (auto product = laggingIn(*op, *inner)) {
          held_ += fragmentRegisters(*product);
          found_.push_back(*product);
        }
    }
  }

  std::optional<LaggingProduct> laggingIn(Op &loop, Op &op) const {
    if (op.kind != OpKind::Dot || !isOnUnit(op) || op.operands.size() != 3) return std::nullopt;
    const auto sums = carriedSums(loop, op);
    // Sums of 8-bit floats go to full ones after so many of k, which parts would cut anew.
    if (!sums || isNarrowFloat(elementOf(kernel_, op, 0))) return std::nullopt;
    if (!isTakenIn(loop, op.operand(0)) || !isTakenIn(loop, op.operand(1))) return std::nullopt;
    // Twice as much where there is more to do beside it: threads store between two meetings.
    std::optional<LaggingProduct> best;
    for (const std::int64_t last : {lastPart(op), isStored(op.operand(0)) ? 2 * lastPart(op) : 0}) {
      const LaggingProduct product{.loop = &loop, .dot = &op, .sums = *sums, .last = last};
      const std::int64_t depth = depthOf(kernel_, op);
      if (last > 0 && depth % last == 0 && depth > last && hasRegisters(product)) best = product;
    }
    return best;
  }

  bool isStored(ValueId tile) const {
    return analysis::filledBy(kernel_, slotOf(kernel_, tile).operand(0)) == Ahead::Stores;
  }

  /// Whether a thread has more than what goes from trip to trip, and the fragments of the last of k
  /// and of the first, which are loaded while those are multiplied.
  bool hasRegisters(const LaggingProduct &product) const {
    const std::int64_t wanted = kOtherRegisters + held_ + kStepsAtOnce * fragmentRegisters(product);
    return wanted < machine::registersOfThread(machine_, kernel_.threads().count());
  }

  std::int64_t fragmentRegisters(const LaggingProduct &product) const {
    std::int64_t registers = 0;
    for (const std::size_t i : {0, 1})
      registers += registersOf(product.dot->operand(i),
                               fragmentsOf(kernel_, machine_, *product.dot, i, product.last));
    return registers;
  }

  std::int64_t carriedRegisters(const Op &loop) const {
    std::int64_t registers = 0;
    for (const ValueId carried :
         llvm::ArrayRef(loop.regions[0].arguments).drop_front(firstCarriedArgument(loop)))
      if (kernel_.layoutOf(carried).valid())
        registers += registersOf(carried, kernel_.layout(kernel_.layoutOf(carried)));
    return registers;
  }

  std::int64_t registersOf(ValueId tile, const layout::LinearLayout &held) const {
    constexpr std::int64_t kBitsOfRegister = 32;
    return layout::registerCount(held) * storageBits(kernel_.type(tile).element()) /
           kBitsOfRegister;
  }

  /// Which of the carried values the product adds to, and nobody else looks at.
  std::optional<std::size_t> carriedSums(Op &loop, const Op &dot) const {
    Block &body = loop.regions[0];
    const auto carried = llvm::ArrayRef(body.arguments).drop_front(firstCarriedArgument(loop));
    const auto *const found = llvm::find(carried, dot.operand(2));
    if (found == carried.end()) return std::nullopt;
    const auto i = static_cast<std::size_t>(found - carried.begin());
    const bool isAlone = uses_[dot.operand(2).index()] == 1 && uses_[dot.result().index()] == 1;
    if (!isAlone || yieldOf(body).operand(i) != dot.result()) return std::nullopt;
    return i;
  }

  bool isTakenIn(const Op &loop, ValueId tile) const {
    if (!kernel_.type(tile).isShared()) return false;
    const Op &slot = slotOf(kernel_, tile);
    return llvm::any_of(loop.regions[0].ops, [&](const auto &op) { return op.get() == &slot; });
  }

  /// An instruction's, or of as many as an order of k mixes.
  std::int64_t lastPart(const Op &dot) const {
    const auto &order = unitAttrs(dot).depthOrder;
    std::size_t mixed = 0;
    for (std::size_t bit = 0; bit < order.size(); ++bit)
      if (order[bit] != static_cast<std::int64_t>(bit)) mixed = bit + 1;
    const auto &unit = *analysis::unitOf(kernel_, dot, machine_);
    return std::max<std::int64_t>(unit.k, std::int64_t{1} << mixed);
  }

  Kernel &kernel_;
  const machine::Machine &machine_;
  std::vector<std::int32_t> uses_;
  std::int64_t held_ = 0; // registers of what goes from trip to trip, with what was found so far
  std::vector<LaggingProduct> found_;
};

// --- how ---

class FragmentCarrier {
public:
  FragmentCarrier(Kernel &kernel, const machine::Machine &machine, const LaggingProduct &product)
      : kernel_(kernel), machine_(machine), product_(product), dot_(*product.dot) {}

  /// What stands behind the loop.
  Block run() {
    Block body = bodyOfTrip(), behind = behindLoop();
    Block &trip = product_.loop->regions[0];
    const auto at = llvm::find_if(trip.ops, [&](const auto &op) { return op.get() == &dot_; });
    const auto number = static_cast<std::size_t>(at - trip.ops.begin());
    forget(kernel_, dot_);
    trip.ops.erase(at);
    moveInto(trip, number, std::move(body));
    return behind;
  }
  Block zeros() { return std::move(zeros_); }

private:
  Block bodyOfTrip() {
    Block block;
    Builder to(kernel_, block);
    to.setLocation(dot_.where);
    const std::int64_t head = depthOf(kernel_, dot_) - product_.last;
    std::array<ValueId, 2> loaded;
    Block loads;
    Builder load(kernel_, loads);
    load.setLocation(dot_.where);
    for (const std::size_t i : {0, 1}) loaded[i] = loadPart(load, i, head);
    const std::vector<ValueId> carried = carry(loaded);
    ValueId sums = multiply(to, {carried[0], carried[1]}, product_.last, dot_.operand(2));
    for (std::int64_t first = 0; first < head;) {
      const auto depth =
          static_cast<std::int64_t>(llvm::bit_floor(static_cast<std::uint64_t>(head - first)));
      sums = multiply(to, {slice(to, 0, first, depth), slice(to, 1, first, depth)}, depth, sums);
      first += depth;
    }
    moveInto(block, block.ops.size(), std::move(loads));
    yieldOf(product_.loop->regions[0]).operands[product_.sums] = sums;
    return block;
  }

  std::vector<ValueId> carry(const std::array<ValueId, 2> &tiles) {
    const std::vector<ValueId> arguments = addCarried(kernel_, *product_.loop, tiles);
    Builder to(kernel_, zeros_);
    to.setLocation(dot_.where);
    for (const ValueId tile : tiles) {
      const ValueId zero = to.constantBits(kernel_.type(tile), 0);
      kernel_.setLayout(zero, kernel_.layoutOf(tile));
      product_.loop->operands.push_back(zero);
      yieldOf(product_.loop->regions[0]).operands.push_back(tile);
    }
    return arguments;
  }

  Block behindLoop() {
    const Op &loop = *product_.loop;
    Block block;
    Builder to(kernel_, block);
    to.setLocation(dot_.where);
    const auto fragments = llvm::ArrayRef(loop.results).take_back(2);
    multiply(to, {fragments[0], fragments[1]}, product_.last, loop.result(product_.sums));
    return block;
  }

  /// Of k from `first` on, in the slot.
  ValueId slice(Builder &to, std::size_t operand, std::int64_t first, std::int64_t depth) {
    const ValueId tile = dot_.operand(operand);
    const Shape &shape = kernel_.type(tile).shape();
    const auto axis = static_cast<std::size_t>(depthAxis(kernel_, dot_, operand));
    llvm::SmallVector<std::int64_t, 5> extents(shape.extents());
    SliceAttrs part{.offsets = {}, .strides = {}};
    part.offsets.assign(extents.size(), 0);
    part.strides.assign(extents.size(), 1);
    part.offsets[axis] = first;
    extents[axis] = depth;
    const Type type = Type::tile(kernel_.type(tile).element(), Shape(extents));
    return to.create(OpKind::Slice, {tile}, {Type::shared(type)}, std::move(part)).result();
  }

  /// The last of k, as fragments.
  ValueId loadPart(Builder &to, std::size_t operand, std::int64_t first) {
    const ValueId part = slice(to, operand, first, product_.last);
    const Type &shared = kernel_.type(part);
    const ValueId tile =
        to.create(OpKind::SharedLoad, {part}, {Type::tile(shared.element(), shared.shape())})
            .result();
    kernel_.setLayout(
        tile, kernel_.addLayout(fragmentsOf(kernel_, machine_, dot_, operand, product_.last)));
    return tile;
  }

  ValueId multiply(Builder &to, const std::array<ValueId, 2> &operands, std::int64_t depth,
                   ValueId sums) {
    Op &made = to.create(OpKind::Dot, {operands[0], operands[1], sums}, {kernel_.type(sums)},
                         dot_.attributes);
    unitAttrs(made).depthOrder = orderOf(dot_, depth);
    kernel_.setLayout(made.result(), kernel_.layoutOf(sums));
    return made.result();
  }

  Kernel &kernel_;
  const machine::Machine &machine_;
  const LaggingProduct &product_;
  Op &dot_;
  Block zeros_; // in front of the loop
};

/// Puts what each product makes of its loop around that.
class LoopSurrounder {
public:
  LoopSurrounder(Kernel &kernel, const machine::Machine &machine,
                 llvm::ArrayRef<LaggingProduct> products)
      : kernel_(kernel), machine_(machine), products_(products) {}

  void visit(Block &block) {
    for (std::size_t i = 0; i < block.ops.size(); ++i) {
      Op &op = *block.ops[i];
      replaced_.applyTo(op);
      for (Block &region : op.regions) visit(region);
      std::size_t behind = 0;
      for (const LaggingProduct &product : products_) {
        if (product.loop != &op) continue;
        i = surround(block, i, product);
        ++behind;
      }
      i += behind; // which take what the loop gives
    }
  }

private:
  /// Where the loop stands then.
  std::size_t surround(Block &block, std::size_t at, const LaggingProduct &product) {
    FragmentCarrier carrier(kernel_, machine_, product);
    Block behind = carrier.run(), zeros = carrier.zeros();
    replaced_.replace(product.loop->result(product.sums), behind.ops.back()->result());
    const std::size_t count = zeros.ops.size();
    moveInto(block, at + 1, std::move(behind));
    moveInto(block, at, std::move(zeros));
    return at + count;
  }

  Kernel &kernel_;
  const machine::Machine &machine_;
  llvm::ArrayRef<LaggingProduct> products_;
  Replacements replaced_;
};

} // namespace

void carryFragments(Kernel &kernel, const PassContext &context) {
  const auto products = LaggingFinder(kernel, context.machine).find();
  LoopSurrounder(kernel, context.machine, products).visit(kernel.body());
}

} // namespace imbrex::passes::pipeline
