#include "backend/analysis/operand_sources.h"

#include "backend/analysis/movement.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <algorithm>

namespace imbrex::analysis {
namespace {

using namespace ir;

/// Not a switch: all other rules are of ops that move elements, or bring them or make them.
bool isComputed(const Op &op) {
  const TypeRule rule = info(op.kind).typeRule;
  return rule == TypeRule::SameAsOperands || rule == TypeRule::Comparison ||
         rule == TypeRule::Select || rule == TypeRule::Cast || rule == TypeRule::Bitcast;
}

bool moves(const Kernel &kernel, const Op &op) {
  return !op.operands.empty() && !op.results.empty() && kernel.type(op.operand(0)).rank() > 0 &&
         movementOf(kernel, op, 0, 0).has_value();
}

bool isAsLarge(const Kernel &kernel, const Op &load, std::int64_t elements) {
  const Type &tile = kernel.type(load.result());
  return tile.isTile() && tile.shape().elements() * 2 >= elements;
}

class Sources {
public:
  explicit Sources(const Kernel &kernel) : kernel_(kernel) {}

  void add(const Op &op) {
    if (!seen_.insert(&op).second) return;
    if (isLoad(op)) return loads_.push_back(&op);
    if (!isComputed(op) && !moves(kernel_, op)) return;
    for (const ValueId operand : op.operands)
      if (const Op *from = kernel_.definition(operand); from && kernel_.type(operand).rank() > 0)
        add(*from);
  }
  llvm::SmallVector<const Op *, 4> take() { return std::move(loads_); }

private:
  const Kernel &kernel_;
  llvm::SmallPtrSet<const Op *, 16> seen_;
  llvm::SmallVector<const Op *, 4> loads_;
};

} // namespace

std::optional<llvm::SmallVector<const Op *, 4>> sourcesOf(const Kernel &kernel, ValueId operand) {
  const Op *op = kernel.definition(operand);
  while (op && op->operands.size() == 1 && !isComputed(*op) && moves(kernel, *op))
    op = kernel.definition(op->operand(0));
  if (!op || !isComputed(*op)) return std::nullopt;
  Sources sources(kernel);
  sources.add(*op);
  return sources.take();
}

std::int64_t bitsOfSources(const Kernel &kernel, ValueId operand) {
  const std::int64_t elements = kernel.type(operand).shape().elements();
  std::int64_t least = 0;
  const auto loads = sourcesOf(kernel, operand);
  if (!loads) return 0;
  for (const Op *load : *loads) {
    const Type &tile = kernel.type(load->result());
    if (!isAsLarge(kernel, *load, elements)) continue;
    // What is cut into pieces has elements of its own size.
    const std::int64_t own = std::min(tile.shape().elements(), elements);
    const std::int64_t bits = storageBits(tile.element()) * own / elements;
    least = least == 0 ? bits : std::min(bits, least);
  }
  return least;
}

} // namespace imbrex::analysis
