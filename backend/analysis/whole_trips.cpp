#include "backend/analysis/whole_trips.h"

#include "backend/analysis/loads_if.h"
#include "backend/ir/products.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace imbrex::analysis {
namespace {

using namespace ir;

class TripReader {
public:
  TripReader(const Kernel &kernel, const Op &loop, bool masksLoads)
      : kernel_(kernel), loop_(loop), body_(loop.regions[0]), masksLoads_(masksLoads) {
    for (const auto &op : body_.ops) own_.insert(op.get());
  }

  std::optional<WholeTrips> read() {
    const auto step = constantInteger(kernel_, loop_.operand(2));
    if (!step || *step <= 0) return std::nullopt;
    whole_.step = *step;
    for (const auto &op : body_.ops) {
      if (!add(*op)) return std::nullopt;
      whole_.steps += stepsOf(*op);
    }
    if (whole_.boxes.empty() || areFew()) return std::nullopt;
    return std::move(whole_);
  }

private:
  /// Whether the loop ends so near where it begins that hardly a trip is whole.
  bool areFew() const {
    constexpr std::int64_t kFew = 2;
    const Op *end = kernel_.definition(loop_.operand(1));
    if (!end || end->kind != OpKind::Add || end->operand(0) != loop_.operand(0)) return false;
    const auto distance = constantInteger(kernel_, end->operand(1));
    return distance && *distance <= (whole_.behind + kFew) * whole_.step;
  }

  /// False where it is not known what the op does in which trips.
  bool add(const Op &op) {
    if (masksLoads_ && isOfLoads(kernel_, op)) return addLoads(op);
    if (!op.regions.empty() || op.kind == OpKind::BreakIf || op.kind == OpKind::ExitIf)
      return false;
    if (op.kind == OpKind::RingCopyBox) return addBox(op) && addCopy(op);
    return op.kind != OpKind::RingCopy || addCopy(op);
  }

  std::int64_t stepsOf(const Op &op) const {
    std::int64_t elements = 0;
    for (const ValueId result : op.results)
      if (kernel_.type(result).isTile()) elements += kernel_.type(result).shape().elements();
    const bool isOfMultiplyAdds = isProduct(op) && !isOnUnit(op);
    return elements * (isOfMultiplyAdds ? depthOf(kernel_, op) : 1) / kernel_.threads().count();
  }

  bool addLoads(const Op &branch) {
    whole_.slots = 1;
    for (const auto &op : branch.regions[0].ops)
      if (op->kind != OpKind::Yield && (op->kind != OpKind::ViewLoad || !addBox(*op))) return false;
    return addCondition(branch.operand(0));
  }

  bool addBox(const Op &op) {
    const ElementKind element = kernel_.type(op.operand(viewOperand(op))).element();
    if (sharesByte(element)) return false; // the next box may begin within one
    MovingBox box{.op = &op, .moves = {}};
    for (const ValueId coordinate : llvm::drop_begin(op.operands, viewOperand(op) + 1)) {
      const auto moves = movesOf(coordinate);
      if (!moves || *moves > 1) return false;
      box.moves.push_back(*moves == 1);
    }
    whole_.boxes.push_back(std::move(box));
    return addView(op.operand(viewOperand(op)));
  }

  /// One that the body makes, it makes of what no trip changes.
  bool addView(ValueId view) {
    const Op *made = kernel_.definition(view);
    if (!made || !own_.contains(made)) return true;
    whole_.coordinates.insert(made);
    return llvm::all_of(made->operands, [&](ValueId operand) { return movesOf(operand) == 0; });
  }

  bool addCopy(const Op &copy) {
    const auto &ring = kernel_.definition(copy.operand(0))->attrs<RingAttrs>();
    whole_.slots = std::min<std::int64_t>(whole_.slots, ring.slots);
    return addCondition(copy.operand(1));
  }

  /// How many times the loop's index a value contains, which is a sum of it and of what no trip
  /// changes; nothing of other values.
  std::optional<std::int32_t> movesOf(ValueId value) {
    if (value == body_.arguments[0]) return 1;
    if (llvm::is_contained(body_.arguments, value)) return std::nullopt;
    const Op *op = kernel_.definition(value);
    if (!op || !own_.contains(op)) return 0;
    whole_.coordinates.insert(op);
    if (op->kind == OpKind::Constant) return 0;
    if (op->kind != OpKind::Add) return std::nullopt;
    const auto a = movesOf(op->operand(0)), b = movesOf(op->operand(1));
    return a && b ? std::optional(*a + *b) : std::nullopt;
  }

  /// `gt (bitcast (sub %end, %index)), n · step`, as numbers without a sign.
  bool addCondition(ValueId condition) {
    const Op *greater = kernel_.definition(condition);
    if (!greater || greater->kind != OpKind::Gt ||
        isSigned(kernel_.type(greater->operand(0)).element()))
      return false;
    const auto bound = constantInteger(kernel_, greater->operand(1));
    const Op *distance = kernel_.definition(greater->operand(0));
    if (distance && distance->kind == OpKind::Bitcast)
      distance = kernel_.definition(distance->operand(0));
    if (!bound || *bound < 0 || *bound % whole_.step != 0 || !distance ||
        distance->kind != OpKind::Sub || distance->operand(0) != loop_.operand(1) ||
        distance->operand(1) != body_.arguments[0])
      return false;
    whole_.behind = std::max(whole_.behind, *bound / whole_.step);
    return true;
  }

  const Kernel &kernel_;
  const Op &loop_;
  const Block &body_;
  const bool masksLoads_;
  std::set<const Op *> own_; // of the body
  WholeTrips whole_{.step = 1,
                    .slots = ForAttrs::kMostSlots,
                    .behind = 0,
                    .steps = 0,
                    .boxes = {},
                    .coordinates = {}};
};

} // namespace

std::size_t viewOperand(const Op &box) { return box.kind == OpKind::ViewLoad ? 0 : 2; }

BoxUnit boxUnit(const Op &box) {
  return box.kind == OpKind::ViewLoad ? box.attrs<ViewAttrs>().unit
                                      : box.attrs<RingCopyBoxAttrs>().unit;
}

ValueId boxTile(const Op &box) {
  return box.kind == OpKind::ViewLoad ? box.result() : box.operand(0);
}

std::optional<WholeTrips> wholeTrips(const Kernel &kernel, const Op &loop, bool masksLoads) {
  return TripReader(kernel, loop, masksLoads).read();
}

} // namespace imbrex::analysis
