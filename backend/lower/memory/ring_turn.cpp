#include "backend/lower/memory/ring_turn.h"

#include "backend/analysis/matrix_product.h"
#include "backend/analysis/ring_copies.h"
#include "backend/ir/products.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

namespace imbrex::lower {
namespace {

using namespace ir;

// Of a warp in a turn: with what stands around them some 16 KiB of code.
constexpr std::int64_t kMostInstructions = 512;

class TurnReader {
public:
  TurnReader(const Kernel &kernel, const machine::Machine &machine)
      : kernel_(kernel), machine_(machine) {}

  RingTurn read(const Block &body) {
    for (const auto &op : body.ops)
      if (!add(*op)) return {};
    if (instructions_ == 0 || instructions_ * slots_ > kMostInstructions) return {};
    if (filled_.empty() || filled_ != taken_) return {};
    return {.trips = slots_, .rings = {filled_.begin(), filled_.end()}};
  }

private:
  using Rings = std::set<ValueId>;

  /// False where the body does something else.
  bool add(const Op &op) {
    if (analysis::isRingCopy(op)) return addRing(op, filled_);
    if (op.kind == OpKind::RingSlot) return addRing(op, taken_);
    if (op.kind == OpKind::Dot) return addProduct(op);
    if (op.kind == OpKind::SharedLoad) return true; // of fragments, for the next trip
    return op.regions.empty() && llvm::all_of(op.results, [&](ValueId result) {
             return kernel_.type(result).isShared() || !kernel_.layoutOf(result).valid();
           });
  }

  /// Once each, of equally many slots.
  bool addRing(const Op &op, Rings &rings) {
    const ValueId ring = op.operand(0);
    const std::int64_t slots = kernel_.definition(ring)->attrs<RingAttrs>().slots;
    if (slots_ == 1) slots_ = slots;
    return slots == slots_ && rings.insert(ring).second;
  }

  bool addProduct(const Op &dot) {
    const machine::MmaInstruction *unit = analysis::unitOf(kernel_, dot, machine_);
    if (!unit) return false;
    const std::int64_t together = std::int64_t{unit->m} * unit->n * unit->k;
    instructions_ += kernel_.type(dot.result()).shape().elements() * depthOf(kernel_, dot) /
                     (together * kernel_.threads().warps);
    return true;
  }

  const Kernel &kernel_;
  const machine::Machine &machine_;
  std::int64_t slots_ = 1, instructions_ = 0;
  Rings filled_, taken_;
};

} // namespace

RingTurn ringTurn(const Kernel &kernel, const Op &loop, const machine::Machine &machine) {
  return TurnReader(kernel, machine).read(loop.regions[0]);
}

} // namespace imbrex::lower
