#include "backend/passes/accumulate_products.h"

#include "backend/ir/builder.h"
#include "backend/ir/products.h"
#include "backend/passes/rewriting.h"
#include "llvm/ADT/STLExtras.h"

#include <map>
#include <utility>

namespace imbrex::passes {
namespace {

using namespace ir;

constexpr size_t kSums = 2; // of a product's operands

/// An op that adds to a product: which operand is the product, which are the sums, and what is
/// negated.
struct Addition {
  size_t product;
  llvm::SmallVector<size_t, 2> sums; ///< Two are multiplied first.
  bool subtractsProduct = false;
  bool subtractsSums = false;
};

/// In which ways an op may be read as an addition to a product, the preferred one first.
llvm::SmallVector<Addition, 2> additionsOf(const Op &op) {
  // Not a switch: of all the ops only these three add.
  if (op.kind == OpKind::Add) return {{.product = 1, .sums = {0}}, {.product = 0, .sums = {1}}};
  if (op.kind == OpKind::Sub)
    return {{.product = 1, .sums = {0}, .subtractsProduct = true},
            {.product = 0, .sums = {1}, .subtractsSums = true}};
  if (op.kind == OpKind::Fma) return {{.product = 2, .sums = {0, 1}}};
  return {};
}

class Accumulator {
public:
  explicit Accumulator(Kernel &kernel) : kernel_(kernel), uses_(countUses(kernel)) {}

  void rewrite(Block &block) {
    std::vector<std::unique_ptr<Op>> ops = std::exchange(block.ops, {});
    block.ops.reserve(ops.size());
    const auto outside = std::exchange(open_, {});
    for (auto &op : ops) {
      replaced_.applyTo(*op);
      for (Block &region : op->regions) rewrite(region);
      if (!accumulated(block, *op)) append(block, std::move(op));
    }
    open_ = outside;
    llvm::erase_if(block.ops, [](const auto &op) { return op == nullptr; });
  }

private:
  /// Into the block; a product that begins with zeros, and that nobody else asks for, is open to
  /// begin with something else.
  void append(Block &block, std::unique_ptr<Op> op) {
    if (isProduct(*op) && uses_[op->result().index()] == 1 && beginsWithZeros(*op))
      open_[op->result()] = block.ops.size();
    block.ops.push_back(std::move(op));
  }

  bool beginsWithZeros(const Op &product) const {
    const ValueId sums = product.operand(kSums);
    return open_.contains(sums) || constantBits(kernel_, sums) == 0;
  }

  /// Whether the op added to an open product, which then has its place.
  bool accumulated(Block &block, Op &op) {
    for (const Addition &addition : additionsOf(op)) {
      const ValueId product = op.operand(addition.product);
      if (!open_.contains(product) || !mayAccumulate(op, addition) || !pays(op, addition)) continue;
      write(block, op, addition);
      forget(kernel_, op);
      return true;
    }
    return false;
  }

  const Type &operandType(const Op &op, size_t i) const { return kernel_.type(op.operand(i)); }

  /// Integers are exact in any order. What is not negated exactly is not subtracted: narrow floats
  /// have no negation.
  bool mayAccumulate(const Op &op, const Addition &addition) const {
    const ElementKind element = kernel_.type(op.result()).element();
    if (isInteger(element)) return true;
    if (kernel_.attributes().contract == Contraction::Off) return false;
    if (!addition.subtractsProduct) return true;
    const Op *product = kernel_.definition(op.operand(addition.product));
    return isAlone(*product) && (isFloat(operandType(*product, 0).element()) ||
                                 isFloat(operandType(*product, 1).element()));
  }

  /// Not one of a chain, of which all would have to be negated.
  bool isAlone(const Op &product) const { return !open_.contains(product.operand(kSums)); }

  /// Whether the product gets sums that are held as it is, or nowhere, being constant.
  bool pays(const Op &op, const Addition &addition) const {
    if (addition.sums.size() == 1 && constantBits(kernel_, op.operand(addition.sums.front())))
      return true;
    return llvm::any_of(addition.sums,
                        [&](size_t i) { return comesFromSums(op.operand(i), kFarthest); });
  }

  /// Whether a tile is carried on, is a product, or is reckoned from one of those.
  bool comesFromSums(ValueId value, int steps) const {
    const Op *op = kernel_.definition(value);
    if (op == nullptr || isProduct(*op) || isLoop(*op) || op->kind == OpKind::If) return true;
    return steps > 0 && isElementwise(op->kind) && llvm::any_of(op->operands, [&](ValueId operand) {
             return kernel_.type(operand).shape() == kernel_.type(value).shape() &&
                    comesFromSums(operand, steps - 1);
           });
  }

  void write(Block &block, const Op &op, const Addition &addition) {
    Builder build(kernel_, block);
    build.setLocation(op.where);
    ValueId sums = op.operand(addition.sums.front());
    if (addition.sums.size() > 1)
      sums = build.elementwise(OpKind::Mul, {sums, op.operand(addition.sums.back())});
    const bool isInteger = ir::isInteger(kernel_.type(op.result()).element());
    const bool negatesAll = addition.subtractsProduct && isInteger; // c - ab = -(ab - c)
    const bool staysOpen = open_.contains(sums) && !addition.subtractsSums && !negatesAll;
    if (addition.subtractsSums || negatesAll) sums = build.elementwise(OpKind::Neg, {sums});
    auto product = take(block, op.operand(addition.product), sums);
    if (addition.subtractsProduct && !isInteger) negateOperand(build, *product);
    ValueId result = product->result();
    block.ops.push_back(std::move(product));
    if (negatesAll) result = build.elementwise(OpKind::Neg, {result});
    replaced_.replace(op.result(), result);
    uses_.resize(kernel_.valueCount(), 0);
    uses_[result.index()] = uses_[op.result().index()];
    if (staysOpen && uses_[result.index()] == 1) open_[result] = block.ops.size() - 1;
  }

  /// An open product out of its place, and what it begins with as well: they begin with `sums` now.
  std::unique_ptr<Op> take(Block &block, ValueId result, ValueId sums) {
    std::unique_ptr<Op> product = std::move(block.ops[open_.at(result)]);
    open_.erase(result);
    ValueId &first = product->operands[kSums];
    if (open_.contains(first)) {
      auto before = take(block, first, sums);
      first = before->result();
      block.ops.push_back(std::move(before));
    } else {
      first = sums;
    }
    return product;
  }

  /// Of the operand that can be negated, if both can the smaller one.
  void negateOperand(Builder &build, Op &product) {
    const Type &a = operandType(product, 0), &b = operandType(product, 1);
    const bool isA = isFloat(a.element()) &&
                     (!isFloat(b.element()) || a.shape().elements() <= b.shape().elements());
    ValueId &operand = product.operands[isA ? 0 : 1];
    operand = build.elementwise(OpKind::Neg, {operand});
  }

  static constexpr int kFarthest = 8; // ops between sums and what is reckoned from them

  Kernel &kernel_;
  std::vector<std::int32_t> uses_; // by value number
  std::map<ValueId, size_t> open_; // products of the block, and where they stand
  Replacements replaced_;
};

} // namespace

void accumulateProducts(Kernel &kernel, const PassContext &) {
  Accumulator(kernel).rewrite(kernel.body());
}

} // namespace imbrex::passes
