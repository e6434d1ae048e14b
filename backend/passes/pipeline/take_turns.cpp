#include "backend/passes/pipeline/take_turns.h"

#include "backend/ir/products.h"
#include "backend/ir/shared_tiles.h"
#include "backend/passes/pipeline/plan_turns.h"
#include "backend/passes/pipeline/product_parts.h"
#include "backend/passes/rewriting.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;
using Ops = std::vector<std::unique_ptr<Op>>;

/// What becomes of a trip's ops.
enum class Sort : std::uint8_t {
  Names, ///< Of slots and parts of them, and what conditions and addresses are made of.
  Fills, ///< Slots for later trips, or registers for these.
  Waits, ///< For copies.
  Meets,
  Multiplies,
  Yields,
};

constexpr auto kSorts = std::to_array<std::pair<OpKind, Sort>>({
    {OpKind::RingCopy, Sort::Fills},
    {OpKind::RingCopyBox, Sort::Fills},
    {OpKind::RingCommit, Sort::Fills},
    {OpKind::RingStore, Sort::Fills},
    {OpKind::If, Sort::Fills}, // with loads for a later trip
    {OpKind::RingDrain, Sort::Waits},
    {OpKind::Meet, Sort::Meets},
    {OpKind::Dot, Sort::Multiplies},
    {OpKind::Yield, Sort::Yields},
});

Sort sortOf(const Op &op) {
  const auto *const found =
      llvm::find_if(kSorts, [&](const auto &one) { return one.first == op.kind; });
  return found == kSorts.end() ? Sort::Names : found->second;
}

/// By sort; of each the order stays.
using SortedOps = std::map<Sort, Ops>;

/// Of the slot in which a tile lies.
const RingAttrs &ringOf(const Kernel &kernel, ValueId tile) {
  return kernel.definition(slotOf(kernel, tile).operand(0))->attrs<RingAttrs>();
}

class TurnTaker {
public:
  TurnTaker(Kernel &kernel, const machine::Machine &machine, const SummedProduct &product,
            std::int32_t parts)
      : kernel_(kernel), machine_(machine), loop_(*product.loop), dot_(*product.dot),
        sums_(product.sums), parts_(kernel, machine, dot_), count_(parts),
        ring_(ringOf(kernel, dot_.operand(0))) {}

  /// Whether the loop is as it was planned: a file may say of any that it is to take turns.
  bool canTake() const {
    const auto isThis = [&](const auto &op) { return op.get() == &dot_; };
    const auto isStore = [](const auto &op) { return op->kind == OpKind::RingStore; };
    const Ops &ops = loop_.regions[0].ops;
    const auto stored = llvm::find_if(ops, isStore);
    return llvm::all_of(ops, [&](const auto &op) { return isOfTrip(*op); }) &&
           makesParts(depthOf(kernel_, dot_), count_,
                      leastPart(kernel_, machine_, dot_) * (areStored_ ? 2 : 1)) &&
           fill_.ahead == std::max(1, ring_.slots - 1) &&
           (areStored_ ? llvm::find_if(ops, isThis) < stored : stored == ops.end());
  }

  /// The ops in front of the loop, and behind it.
  std::pair<Block, Block> run() {
    SortedOps ops = sortOps();
    Block before, behind;
    Builder in(kernel_, before), out(kernel_, behind);
    in.setLocation(loop_.where);
    out.setLocation(loop_.where);
    for (const auto &wait : ops[Sort::Waits])
      in.create(OpKind::RingDrain, {}, {}, wait->attributes);
    meet(in, Half::Both);
    meet(in, Half::Second);
    writeTrip(std::move(ops));
    meet(out, Half::First);
    return {std::move(before), std::move(behind)};
  }

private:
  std::int64_t depth() const { return depthOf(kernel_, dot_) / count_; }

  /// Between the meetings of halves no thread may need another but by what the trip orders.
  bool isOfTrip(const Op &op) const {
    const auto isLoad = [&](const auto &inner) {
      return inner->kind == OpKind::ViewLoad || inner->kind == OpKind::Constant ||
             inner->kind == OpKind::Yield || isOfScalars(kernel_, *inner);
    };
    if (op.kind == OpKind::If)
      return llvm::all_of(op.regions,
                          [&](const Block &body) { return llvm::all_of(body.ops, isLoad); });
    const auto isShared = [&](ValueId value) { return kernel_.type(value).isShared(); };
    return sortOf(op) != Sort::Names || isOfScalars(kernel_, op) ||
           (!op.results.empty() && llvm::all_of(op.results, isShared));
  }

  static void meet(Builder &to, Half half) {
    to.create(OpKind::Meet, {}, {}, MeetAttrs{.half = half});
  }

  SortedOps sortOps() {
    SortedOps ops;
    for (std::unique_ptr<Op> &op : std::exchange(loop_.regions[0].ops, {}))
      ops[sortOf(*op)].push_back(std::move(op));
    return ops;
  }

  void writeTrip(SortedOps ops) {
    Block &body = loop_.regions[0];
    Builder to(kernel_, body);
    to.setLocation(dot_.where);
    const auto put = [&](Sort sort) {
      llvm::move(std::exchange(ops[sort], {}), std::back_inserter(body.ops));
    };
    put(Sort::Names);
    ValueId sums = dot_.operand(2);
    for (std::int32_t part = 0; part < count_; ++part) {
      const bool isLast = part + 1 == count_;
      const std::int64_t pieces = isLast && areStored_ ? 2 : 1;
      const auto fragments = readPart(to, part, pieces);
      if (isLast) put(Sort::Waits);
      for (std::int64_t piece = 0; piece < pieces; ++piece) {
        if (fill_.cluster == 2 * (part + piece)) put(Sort::Fills);
        meet(to, Half::Both);
        sums =
            parts_.multiply(to, fragments[static_cast<std::size_t>(piece)], depth() / pieces, sums);
        meet(to, Half::Both);
      }
    }
    forget(kernel_, dot_);
    ops[Sort::Yields].front()->operands[sums_] = sums;
    put(Sort::Yields);
  }

  /// A part of k, in so many pieces.
  std::vector<std::array<ValueId, 2>> readPart(Builder &to, std::int32_t part,
                                               std::int64_t pieces) {
    std::vector<std::array<ValueId, 2>> read;
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      const std::int64_t first = part * depth() + piece * depth() / pieces;
      read.push_back({parts_.load(to, 0, first, depth() / pieces),
                      parts_.load(to, 1, first, depth() / pieces)});
    }
    return read;
  }

  Kernel &kernel_;
  const machine::Machine &machine_;
  Op &loop_;
  Op &dot_;
  const std::size_t sums_;
  const ProductParts parts_;
  const std::int32_t count_;
  const RingAttrs &ring_;
  const bool areStored_ = ring_.by == Ahead::Stores;
  const schedule::LoadPlace fill_ =
      placeOfFill({.parts = count_, .slots = ring_.slots, .areStored = areStored_});
};

/// The product of a loop whose operands lie in slots.
std::optional<SummedProduct> productOf(const Kernel &kernel, const machine::Machine &machine,
                                       Op &loop) {
  const std::vector<std::int32_t> uses = countUses(kernel);
  for (const auto &op : loop.regions[0].ops)
    if (const auto product = summedProduct(kernel, machine, loop, *op, uses))
      return isTakenIn(kernel, loop, op->operand(0)) && isTakenIn(kernel, loop, op->operand(1))
                 ? product
                 : std::nullopt;
  return std::nullopt;
}

} // namespace

void takeTurns(Kernel &kernel, const PassContext &context) {
  Block &body = kernel.body();
  for (std::size_t i = 0; i < body.ops.size(); ++i) {
    Op &op = *body.ops[i];
    if (op.kind != OpKind::For) continue;
    const std::int32_t parts = std::exchange(op.attrs<ForAttrs>().turns, 0);
    const bool isAsked = parts > 0 && whyNotApart(kernel, op, context.machine).empty();
    const auto product = isAsked ? productOf(kernel, context.machine, op) : std::nullopt;
    if (!product) continue;
    TurnTaker taker(kernel, context.machine, *product, parts);
    if (!taker.canTake()) continue;
    auto [before, behind] = taker.run();
    const std::size_t count = before.ops.size();
    moveInto(body, i + 1, std::move(behind));
    moveInto(body, i, std::move(before));
    i += count + 1;
  }
}

} // namespace imbrex::passes::pipeline
