#include "backend/passes/pipeline/carry_fragments.h"

#include "backend/analysis/matrix_product.h"
#include "backend/analysis/ring_copies.h"
#include "backend/ir/products.h"
#include "backend/ir/shared_tiles.h"
#include "backend/machine/occupancy.h"
#include "backend/passes/pipeline/copy_ops.h"
#include "backend/passes/pipeline/product_parts.h"
#include "backend/passes/rewriting.h"
#include "backend/passes/units/unit_registers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;

/// What of a product is multiplied a trip later.
struct LaggingProduct {
  SummedProduct product;
  std::int64_t last; ///< So many of k are multiplied in the next trip.
};

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
      const std::int64_t held = around + (isLoop(*op) ? carriedRegisters(kernel_, *op) : 0);
      for (Block &region : op->regions) visit(region, held);
      if (op->kind != OpKind::For) continue;
      held_ = held;
      for (const auto &inner : op->regions[0].ops)
        if (auto lagging = laggingIn(*op, *inner)) {
          held_ += fragmentRegisters(*lagging);
          found_.push_back(*lagging);
        }
    }
  }

  std::optional<LaggingProduct> laggingIn(Op &loop, Op &op) const {
    const auto product = summedProduct(kernel_, machine_, loop, op, uses_);
    if (!product || !isTakenIn(kernel_, loop, op.operand(0)) ||
        !isTakenIn(kernel_, loop, op.operand(1)))
      return std::nullopt;
    // Twice as much where there is more to do beside it: threads store between two meetings.
    const std::int64_t least = leastPart(kernel_, machine_, op);
    std::optional<LaggingProduct> best;
    for (const std::int64_t last : {least, isStored(op.operand(0)) ? 2 * least : 0}) {
      const LaggingProduct lagging{.product = *product, .last = last};
      const std::int64_t depth = depthOf(kernel_, op);
      if (last > 0 && depth % last == 0 && depth > last && hasRegisters(lagging)) best = lagging;
    }
    return best;
  }

  bool isStored(ValueId tile) const {
    return analysis::filledBy(kernel_, slotOf(kernel_, tile).operand(0)) == Ahead::Stores;
  }

  /// Whether a thread has as much as goes from trip to trip, and the fragments of the last of k and
  /// of the first, which are loaded while those are multiplied.
  bool hasRegisters(const LaggingProduct &lagging) const {
    std::int64_t wanted = kOtherRegisters + held_ + kStepsAtOnce * fragmentRegisters(lagging);
    // Where LLVM orders what is read by itself, it reads ahead a little more (product_order.h).
    constexpr std::int64_t kReadBesides = 8;
    if (machine::mirrorsOperands(*analysis::unitOf(kernel_, *lagging.product.dot, machine_)))
      wanted += kReadBesides;
    return wanted <= machine::registersOfThread(machine_, kernel_.threads().count());
  }

  std::int64_t fragmentRegisters(const LaggingProduct &lagging) const {
    return pipeline::fragmentRegisters(kernel_, machine_, *lagging.product.dot, lagging.last);
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
  FragmentCarrier(Kernel &kernel, const machine::Machine &machine, const LaggingProduct &lagging)
      : kernel_(kernel), product_(lagging.product), last_(lagging.last), dot_(*product_.dot),
        parts_(kernel, machine, dot_) {}

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
    const std::int64_t head = depthOf(kernel_, dot_) - last_;
    std::array<ValueId, 2> loaded;
    Block loads;
    Builder load(kernel_, loads);
    load.setLocation(dot_.where);
    for (const std::size_t i : {0, 1}) loaded[i] = parts_.load(load, i, head, last_);
    const std::vector<ValueId> carried = carry(loaded);
    ValueId sums = parts_.multiply(to, {carried[0], carried[1]}, last_, dot_.operand(2));
    for (std::int64_t first = 0; first < head;) {
      const auto depth =
          static_cast<std::int64_t>(llvm::bit_floor(static_cast<std::uint64_t>(head - first)));
      const std::array operands{parts_.slice(to, 0, first, depth),
                                parts_.slice(to, 1, first, depth)};
      sums = parts_.multiply(to, operands, depth, sums);
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
    parts_.multiply(to, {fragments[0], fragments[1]}, last_, loop.result(product_.sums));
    return block;
  }

  Kernel &kernel_;
  const SummedProduct product_;
  const std::int64_t last_;
  Op &dot_;
  const ProductParts parts_;
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
      for (const LaggingProduct &lagging : products_) {
        if (lagging.product.loop != &op) continue;
        i = surround(block, i, lagging);
        ++behind;
      }
      i += behind; // which take what the loop gives
    }
  }

private:
  /// Where the loop stands then.
  std::size_t surround(Block &block, std::size_t at, const LaggingProduct &lagging) {
    FragmentCarrier carrier(kernel_, machine_, lagging);
    Block behind = carrier.run(), zeros = carrier.zeros();
    const SummedProduct &product = lagging.product;
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
